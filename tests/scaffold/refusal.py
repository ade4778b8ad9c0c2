"""Why nothing was written."""


class RefusedError(Exception):
    """What was asked for cannot be written; its text says why, and what to do. Nothing was."""
