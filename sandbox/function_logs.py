"""What the functions logged, kept as one file once their AWS is gone."""

from pathlib import Path

from botocore.client import BaseClient

from sandbox.clients import aws_client

# The newest of each group say why something ended; a sandbox up for days logs without end.
_MAX_PAGES_PER_GROUP = 20


def save_function_logs(aws_port: int, path: Path, since_ms: int = 0) -> None:
    """Writes what every function logged since then, in the order of the times."""
    logs = aws_client("logs", aws_port)
    groups = [
        group["logGroupName"]
        for page in logs.get_paginator("describe_log_groups").paginate()
        for group in page["logGroups"]
    ]
    lines = [line for group in groups for line in _lines(logs, group, since_ms)]
    # By time alone: lines of one moment stay in the order they were written.
    lines.sort(key=lambda line: line[0])
    path.write_text("".join(f"{at_ms} {group} {message}\n" for at_ms, group, message in lines))


def _lines(logs: BaseClient, group: str, since_ms: int) -> list[tuple[int, str, str]]:
    pages = logs.get_paginator("filter_log_events")
    limit = {"PageSize": 1000, "MaxItems": 1000 * _MAX_PAGES_PER_GROUP}
    return [
        (event["timestamp"], group, event["message"].rstrip())
        for page in pages.paginate(logGroupName=group, startTime=since_ms, PaginationConfig=limit)
        for event in page["events"]
    ]
