"""Mutation testing of the ledger: change its code in one place, and see whether a test notices."""
