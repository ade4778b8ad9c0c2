"""The door: start a run, read it, decide. Every answer comes from the ledger."""
