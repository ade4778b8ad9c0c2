"""What the Linux kernel says about processes and their TCP sockets, read from /proc."""

import os
import select
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_TCP_LISTEN = "0A"
_TCP_TABLES = ("net/tcp", "net/tcp6")


@dataclass(frozen=True)
class TcpSocket:
    """One row of the kernel's TCP tables."""

    local_port: int
    remote_port: int
    listening: bool
    inode: int


def tcp_sockets() -> Iterator[TcpSocket]:
    """Every TCP socket of this network namespace."""
    for table in _TCP_TABLES:
        path = PROC / table
        if not path.exists():
            continue
        for row in path.read_text().splitlines()[1:]:
            fields = row.split()
            yield TcpSocket(
                local_port=int(fields[1].rpartition(":")[2], 16),
                remote_port=int(fields[2].rpartition(":")[2], 16),
                listening=fields[3] == _TCP_LISTEN,
                inode=int(fields[9]),
            )


def parent_of(pid: int) -> int | None:
    """The parent's pid, or None when the process is gone."""
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name, in brackets, may hold spaces and brackets itself.
    return int(stat.rpartition(")")[2].split()[1])


def is_descendant(pid: int, ancestor: int) -> bool:
    """Whether `pid` lies strictly below `ancestor` in the process tree."""
    seen: set[int] = set()
    current = parent_of(pid)
    while current is not None and current not in seen:
        if current == ancestor:
            return True
        seen.add(current)
        current = parent_of(current)
    return False


def descendants_of(ancestor: int) -> list[int]:
    """Every live process strictly below `ancestor`."""
    pids = (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())
    return [pid for pid in pids if is_descendant(pid, ancestor)]


def holds_socket(pid: int, inode: int) -> bool:
    """Whether the process has the socket open; False when it is gone."""
    target = f"socket:[{inode}]"
    try:
        descriptors = list((PROC / str(pid) / "fd").iterdir())
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return any(_target(descriptor) == target for descriptor in descriptors)


def _target(descriptor: Path) -> str | None:
    try:
        return str(descriptor.readlink())
    except (FileNotFoundError, ProcessLookupError):
        return None


def listens_on(pid: int, port: int) -> bool:
    """Whether `pid` itself holds the listening socket of `port`."""
    return any(
        holds_socket(pid, row.inode)
        for row in tcp_sockets()
        if row.listening and row.local_port == port
    )


def client_process(client_port: int, server_port: int, ancestor: int) -> int | None:
    """The process below `ancestor` at the client's end of a loopback connection, or None."""
    inodes = [
        row.inode
        for row in tcp_sockets()
        if (row.local_port, row.remote_port) == (client_port, server_port) and row.inode
    ]
    for pid in descendants_of(ancestor):
        if any(holds_socket(pid, inode) for inode in inodes):
            return pid
    return None


def kill_for_certain(pid: int, timeout_seconds: float) -> bool:
    """SIGKILL the process; True once the kernel says that it has ended.

    A descriptor of the process is held throughout, so the signal and the answer can only be
    about that process and never about a later one with the same number.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        return bool(ended.poll(timeout_seconds * 1000))
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
