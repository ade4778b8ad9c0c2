"""The infrastructure, derived from the registry's data."""
