"""``cancel-refund@3``. Released: what it does is frozen, see ``contract``.

It refunds before it cancels. ``cancel-refund@4`` turned that round: a customer whose refund had
gone through while the renewal stayed on was charged again.
"""
