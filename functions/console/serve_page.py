"""``GET`` and ``HEAD`` of the pages and their files: the same bytes for everybody.

Nobody is signed in here and nothing is read or written, so a scanner that follows every link of a
mail, any number of times, changes nothing. Data come from the API, for the person's own token.
"""

import json
import os
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from pathlib import Path

from console.page_headers import page_headers

STATIC = Path(__file__).parent / "static"
CONFIGURATION = "config.json"
PAGE_OF_ROUTE = {
    "/console": "console.html",
    "/approve/{run_id}/{approval_id}": "approve.html",
    "/artifact/{run_id}": "artifact.html",
    "/signed-in": "signed-in.html",
}
FILE_ROUTE = "/console/{file}"
CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}

type Response = dict[str, object]


def handler(event: Mapping[str, object], _context: object) -> Response:
    """Return 200 with a page or file, 404 for a name that is none of them."""
    method, _, route = str(event.get("routeKey", "")).partition(" ")
    name = _wanted(route, event.get("pathParameters"))
    body = _files().get(name)
    headers = dict(page_headers(os.environ["SIGN_IN_URL"]))
    if body is None:
        status, body, kind = HTTPStatus.NOT_FOUND, "There is no such file.", "text/plain"
    else:
        status, kind = HTTPStatus.OK, CONTENT_TYPES[Path(name).suffix]
    return {
        "statusCode": int(status),
        "headers": {**headers, "content-type": kind},
        "body": "" if method == "HEAD" else body,
    }


def _wanted(route: str, path: object) -> str:
    """Return the name of the file that the matched route and its path ask for."""
    if route == FILE_ROUTE:
        name = str(path.get("file", "")) if isinstance(path, Mapping) else ""
        # The pages have addresses of their own.
        return "" if name.endswith(".html") else name
    return PAGE_OF_ROUTE.get(route, "")


@cache
def _files() -> Mapping[str, str]:
    """Return every file by name. What is not here cannot be asked for, whatever the path says."""
    files = {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(STATIC.iterdir())
        if path.suffix in CONTENT_TYPES
    }
    configuration = {
        "client_id": os.environ["USER_POOL_CLIENT_ID"],
        "sign_in_url": os.environ["SIGN_IN_URL"],
    }
    return {**files, CONFIGURATION: json.dumps(configuration)}
