"""One module per provider: its contract as data, and the adapter that translates for it.

An adapter decides nothing. It puts an intent into the provider's terms, sends exactly the frozen
parameters, and says in typed fields what came back.
"""
