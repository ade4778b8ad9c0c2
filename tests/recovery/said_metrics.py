"""What the functions say of their metrics, kept for a look at it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from typing import TextIO

from ledger.ports import Ports
from runtime.measured_providers import MeasuredProviders
from runtime.measured_store import MeasuredStore
from runtime.metrics import flush

# Where Powertools takes the namespace from; every deployed function has it.
NAMESPACE = "POWERTOOLS_METRICS_NAMESPACE"


def measured(ports: Ports) -> Ports:
    """Return ``ports`` as a deployed function has them, measured at the edge."""
    return replace(
        ports, store=MeasuredStore(ports.store), providers=MeasuredProviders(ports.providers)
    )


@contextmanager
def metrics_into(stream: TextIO) -> Iterator[None]:
    """Send the lines of metrics to ``stream`` for the time being, those of the end included."""
    before = os.environ.get(NAMESPACE)
    os.environ[NAMESPACE] = "some-deployment"
    try:
        with redirect_stdout(stream):
            try:
                yield
            finally:
                flush()
    finally:
        if before is None:
            del os.environ[NAMESPACE]
        else:
            os.environ[NAMESPACE] = before
