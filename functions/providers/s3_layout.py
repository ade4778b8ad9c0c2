"""Where in the team's bucket a project is: ``projects/<project_id>/`` with an owner and files."""

PROJECTS_PREFIX = "projects/"
OWNER_FILE = "owner.json"


def owner_key(project_id: str) -> str:
    """Return the key of the record that says whose a project is."""
    return f"{PROJECTS_PREFIX}{project_id}/{OWNER_FILE}"


def files_prefix(project_id: str) -> str:
    """Return what the key of each file of a project begins with."""
    return f"{PROJECTS_PREFIX}{project_id}/files/"
