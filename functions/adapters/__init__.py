"""The domain's ports on AWS, and the same ledger store in memory."""
