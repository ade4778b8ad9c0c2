"""The workflows: a registry, and one slice for each released version."""
