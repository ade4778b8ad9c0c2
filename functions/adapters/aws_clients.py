"""AWS clients with short timeouts and with retries only where a repeat is harmless."""

from typing import TYPE_CHECKING, cast

import boto3
from botocore.config import Config

from adapters.sqs_nominations import SqsClient

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_stepfunctions import SFNClient

CONNECT_TIMEOUT_SECONDS = 1  # within a region a connection takes a few milliseconds or fails
READ_TIMEOUT_SECONDS = 2  # a slow transaction takes 0.1 s; a repeat is recognised by its token
CONTROL_ATTEMPTS = 2  # one repeat: a kept connection may have died while the function was frozen


def dynamodb_client() -> "DynamoDBClient":
    """Return a client that never repeats a request: the store knows which repeat is its own."""
    return boto3.client("dynamodb", config=_config(READ_TIMEOUT_SECONDS, attempts=1))


def step_functions_client() -> "SFNClient":
    """Return a client whose starts are safe to repeat, because executions are named."""
    return boto3.client("stepfunctions", config=_config(READ_TIMEOUT_SECONDS, CONTROL_ATTEMPTS))


def sqs_client() -> SqsClient:
    """Return a client for the queue of due runs, where a run that comes twice is harmless."""
    config = _config(READ_TIMEOUT_SECONDS, CONTROL_ATTEMPTS)
    return cast("SqsClient", boto3.client("sqs", config=config))


def secrets_client() -> "SecretsManagerClient":
    """Return a client for reading secrets."""
    return boto3.client("secretsmanager", config=_config(READ_TIMEOUT_SECONDS, CONTROL_ATTEMPTS))


def signing_client() -> "S3Client":
    """Return a client that signs addresses of objects, which asks nobody."""
    # The older signature, which is still the default for addresses, is not known to every region.
    return boto3.client("s3", config=Config(signature_version="s3v4"))


def _config(read_timeout_seconds: int, attempts: int) -> Config:
    return Config(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=read_timeout_seconds,
        retries={"total_max_attempts": attempts, "mode": "standard"},
    )
