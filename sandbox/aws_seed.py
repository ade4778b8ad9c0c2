"""What the embedded AWS holds besides the stacks: a secret, a mail identity, sample users."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.clients import aws_client
from sandbox.stripe_server import API_KEY, SIGNING_SECRET

if TYPE_CHECKING:
    from mypy_boto3_cognito_idp import CognitoIdentityProviderClient

STRIPE_SECRET_ID = "recovery-ledger/stripe"
MAIL_FROM = "refunds@recovery-ledger.example"
TENANT_ID = "tenant_sample"
SAMPLE_PASSWORD = "Sandbox-only-1!"


@dataclass(frozen=True)
class SampleUser:
    """Somebody who can sign in; `group` and `customer_id` say what they may do."""

    name: str
    group: str | None = None
    customer_id: str | None = None
    tenant_id: str = TENANT_ID

    @property
    def email(self) -> str:
        return f"{self.name}@recovery-ledger.example"


def sample_users(customer_id: str) -> tuple[SampleUser, ...]:
    """One of each kind: who asks for a refund, whose money it is, who looks after runs."""
    return (
        SampleUser("agent", group="agents"),
        SampleUser("customer", customer_id=customer_id),
        SampleUser("operator", group="operators"),
    )


def seed_before_deploy(aws_port: int) -> None:
    """The Stripe credentials and the sender's identity, which the stacks take as given."""
    aws_client("secretsmanager", aws_port).create_secret(
        Name=STRIPE_SECRET_ID,
        SecretString=json.dumps({"api_key": API_KEY, "signing_secret": SIGNING_SECRET}),
    )
    aws_client("sesv2", aws_port).create_email_identity(EmailIdentity=MAIL_FROM)


def create_users(aws_port: int, pool_id: str, users: tuple[SampleUser, ...]) -> None:
    """Creates the users, confirmed and with their attributes and groups."""
    cognito = aws_client("cognito-idp", aws_port)
    for user in users:
        _create(cognito, pool_id, user)


def sign_in(
    aws_port: int, pool_id: str, client_id: str, users: tuple[SampleUser, ...]
) -> dict[str, str]:
    """An id token for each user by name; each is good for as long as the client's setting says."""
    cognito = aws_client("cognito-idp", aws_port)
    return {user.name: _id_token(cognito, pool_id, client_id, user) for user in users}


def _create(cognito: "CognitoIdentityProviderClient", pool_id: str, user: SampleUser) -> None:
    attributes = {
        "email": user.email,
        "email_verified": "true",
        "custom:tenant_id": user.tenant_id,
        **({"custom:customer_id": user.customer_id} if user.customer_id else {}),
    }
    cognito.admin_create_user(
        UserPoolId=pool_id,
        Username=user.email,
        MessageAction="SUPPRESS",
        UserAttributes=[{"Name": name, "Value": value} for name, value in attributes.items()],
    )
    cognito.admin_set_user_password(
        UserPoolId=pool_id, Username=user.email, Password=SAMPLE_PASSWORD, Permanent=True
    )
    if user.group is not None:
        cognito.admin_add_user_to_group(
            UserPoolId=pool_id, Username=user.email, GroupName=user.group
        )


def _id_token(
    cognito: "CognitoIdentityProviderClient", pool_id: str, client_id: str, user: SampleUser
) -> str:
    signed_in = cognito.admin_initiate_auth(
        UserPoolId=pool_id,
        ClientId=client_id,
        AuthFlow="ADMIN_USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": user.email, "PASSWORD": SAMPLE_PASSWORD},
    )
    return signed_in["AuthenticationResult"]["IdToken"]
