"""Hand a customer's project out to its owner, as an archive behind a link that ends."""
