"""Writes the beginnings of a workflow, of a version and of a state machine for a developer."""
