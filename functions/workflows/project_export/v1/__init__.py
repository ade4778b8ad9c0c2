"""``project-export@1``. Released: what it does is frozen, see ``contract``."""
