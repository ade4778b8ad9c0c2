"""Say what was measured, once at the end of an invocation, in CloudWatch's embedded metric format.

A function that measured nothing says nothing. Measuring never stands in the way of work: what
cannot be said is logged and dropped, and a process that is killed takes what it had not said along.
The one number that must not depend on that, duplicate effects, is read at the provider instead.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import NamedTuple

from aws_lambda_powertools.metrics import EphemeralMetrics

from runtime.log import log_failure
from runtime.metric_names import SERVICE, Metric

# An invocation measures a few values for each run that it touches, and touches 100 at most.
MAX_MEASUREMENTS = 1_000
# What dimension values look like: words of the code. An address or a name does not.
WORD = re.compile(r"[a-z0-9_]{1,64}")


class Measurement(NamedTuple):
    """One value of one metric."""

    metric: Metric
    value: float
    dimensions: tuple[tuple[str, str], ...]


_unsaid: list[Measurement] = []


def measure(metric: Metric, value: float, **dimensions: str) -> None:
    """Keep a value until ``flush``. Beyond MAX_MEASUREMENTS in one invocation values are dropped.

    Raises ValueError for dimensions that the metric has not, or whose values are no words of ours.
    """
    if set(dimensions) != set(metric.dimensions):
        raise ValueError(f"{metric.name} has the dimensions {metric.dimensions}.")
    if not all(WORD.fullmatch(found) for found in dimensions.values()):
        raise ValueError(f"A dimension of {metric.name} is no word of the code.")
    if len(_unsaid) < MAX_MEASUREMENTS:
        _unsaid.append(Measurement(metric, value, tuple(sorted(dimensions.items()))))


def flush() -> None:
    """Write what was measured since the last time, a line for each set of dimensions."""
    measured, _unsaid[:] = list(_unsaid), []
    by_dimensions: dict[tuple[tuple[str, str], ...], list[Measurement]] = defaultdict(list)
    for found in measured:
        by_dimensions[found.dimensions].append(found)
    for dimensions, found_there in by_dimensions.items():
        try:
            _say(dimensions, found_there)
        except Exception as error:  # noqa: BLE001  a handler's work is done, whatever is said of it
            log_failure("what was measured could not be said", error)


def flushed[**P, R](handler: Callable[P, R]) -> Callable[P, R]:
    """Return ``handler`` so that what it measured is said when it ends, however it ends."""

    @wraps(handler)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return handler(*args, **kwargs)
        finally:
            flush()

    return run


def _say(dimensions: tuple[tuple[str, str], ...], measured: list[Measurement]) -> None:
    # The namespace is the deployment's name, which Powertools takes from the environment.
    metrics = EphemeralMetrics(service=SERVICE)
    for name, value in dimensions:
        metrics.add_dimension(name, value)
    for found in measured:
        metrics.add_metric(found.metric.name, found.metric.unit, found.value)
    if metrics.metric_set:  # a hundred values of one metric were written already
        metrics.flush_metrics()
