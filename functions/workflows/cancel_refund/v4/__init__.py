"""``cancel-refund@4``. Released: what it does is frozen, see ``contract``."""
