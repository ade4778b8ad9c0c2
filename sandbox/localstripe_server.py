"""localstripe as it comes, on loopback alone: `python -m sandbox.localstripe_server --port P`.

Its own command listens on every interface and keeps a copy of its store at one fixed path, so
two of them, or two users of one machine, would get into each other's way.
"""

import argparse

from aiohttp import web
from localstripe.resources import Store
from localstripe.server import app

from sandbox.ports import LOOPBACK


def _keep_in_memory(_store: Store) -> None:
    """A sandbox starts empty, so its store is never read back."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    Store.dump_to_disk = _keep_in_memory
    web.run_app(app, host=LOOPBACK, port=options.port, print=None)


if __name__ == "__main__":
    main()
