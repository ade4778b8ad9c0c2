"""boto3 clients of the embedded AWS, whatever the environment says."""

from typing import TYPE_CHECKING, Any, Literal, overload

import boto3
from botocore.client import BaseClient
from botocore.config import Config

from sandbox.aws import ACCESS_KEY, REGION, endpoint

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cognito_idp import CognitoIdentityProviderClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sesv2 import SESV2Client
    from mypy_boto3_stepfunctions import SFNClient

# A cold start on a loaded machine takes seconds; nothing here takes longer than this.
_READ_TIMEOUT_SECONDS = 60


@overload
def aws_client(service: Literal["cloudwatch"], port: int) -> "CloudWatchClient": ...
@overload
def aws_client(service: Literal["cognito-idp"], port: int) -> "CognitoIdentityProviderClient": ...
@overload
def aws_client(service: Literal["dynamodb"], port: int) -> "DynamoDBClient": ...
@overload
def aws_client(service: Literal["events"], port: int) -> "EventBridgeClient": ...
@overload
def aws_client(service: Literal["lambda"], port: int) -> "LambdaClient": ...
@overload
def aws_client(service: Literal["logs"], port: int) -> BaseClient: ...
@overload
def aws_client(service: Literal["s3"], port: int) -> "S3Client": ...
@overload
def aws_client(service: Literal["secretsmanager"], port: int) -> "SecretsManagerClient": ...
@overload
def aws_client(service: Literal["sesv2"], port: int) -> "SESV2Client": ...
@overload
def aws_client(service: Literal["sns", "sqs"], port: int) -> Any: ...  # noqa: ANN401  no stubs
@overload
def aws_client(service: Literal["stepfunctions"], port: int) -> "SFNClient": ...
def aws_client(service: Any, port: int) -> Any:
    """A client of one service at the embedded AWS on `port`."""
    session = boto3.Session(
        aws_access_key_id=ACCESS_KEY, aws_secret_access_key=ACCESS_KEY, region_name=REGION
    )
    return session.client(
        service,
        endpoint_url=endpoint(port),
        config=Config(read_timeout=_READ_TIMEOUT_SECONDS, retries={"total_max_attempts": 1}),
    )
