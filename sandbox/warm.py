"""Cold starts taken before anybody waits for them."""

from concurrent.futures import ThreadPoolExecutor

from sandbox.clients import aws_client

# More at once only makes each slower on a machine with two processors.
_AT_ONCE = 4
_RUNTIME = "provided.al2023"


def warm_functions(aws_port: int) -> int:
    """Starts one environment of every function; returns how many.

    An empty event is refused by every function before it does anything; the refusal is ignored.
    """
    functions = aws_client("lambda", aws_port)
    names = [
        function["FunctionName"]
        for page in functions.get_paginator("list_functions").paginate()
        for function in page["Functions"]
        if function.get("Runtime") == _RUNTIME
    ]
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        list(
            pool.map(
                lambda name: functions.invoke(FunctionName=name, Payload=b"{}")["StatusCode"], names
            )
        )
    return len(names)
