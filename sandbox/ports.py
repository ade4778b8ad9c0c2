"""Free TCP ports of the loopback interface."""

import socket

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """A port nobody listens on now.

    Another process may take it before our server binds it, so whoever starts a server must
    check that the listener is its own and try again with another port if it is not.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
