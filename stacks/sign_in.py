"""Who may call the API: a user pool whose attributes the users themselves cannot set."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk.aws_cognito import (
    AccountRecovery,
    AuthFlow,
    ClientAttributes,
    Mfa,
    MfaSecondFactor,
    PasswordPolicy,
    SignInAliases,
    StringAttribute,
    UserPool,
    UserPoolClient,
)
from constructs import Construct

from stacks.acknowledge import acknowledge
from stacks.deployment import Deployment

GROUPS = ("agents", "operators")
PASSWORD_LENGTH_MIN = 12
# A decision about money is made by whoever signed in lately.
TOKEN_MINUTES = 60


class SignIn(Construct):
    """A user pool, its groups and the API's client."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: Deployment) -> None:
        """Add the pool, which is kept when its stack goes."""
        super().__init__(scope, construct_id)
        self.pool = UserPool(
            self,
            "Users",
            account_recovery=AccountRecovery.EMAIL_ONLY,
            custom_attributes={
                "customer_id": StringAttribute(mutable=True),
                "tenant_id": StringAttribute(mutable=True),
            },
            deletion_protection=True,
            mfa=Mfa.OPTIONAL,
            mfa_second_factor=MfaSecondFactor(otp=True, sms=False),
            password_policy=PasswordPolicy(
                min_length=PASSWORD_LENGTH_MIN,
                require_digits=True,
                require_lowercase=True,
                require_symbols=True,
                require_uppercase=True,
            ),
            removal_policy=RemovalPolicy.RETAIN,
            self_sign_up_enabled=False,
            sign_in_aliases=SignInAliases(email=True),
        )
        for group in GROUPS:
            self.pool.add_group(group.capitalize(), group_name=group)
        self.client = self._client(deployment)
        acknowledge(
            self.pool,
            "COG2",
            "Customers sign in too, and choose a second factor for themselves.",
        )
        acknowledge(
            self.pool,
            "COG8",
            "Threat protection is in a paid plan, which the account's owner decides on.",
        )

    def _client(self, deployment: Deployment) -> UserPoolClient:
        attributes = ClientAttributes()
        return self.pool.add_client(
            "Api",
            # Passwords go over the wire only to the sandbox, whose users are samples.
            auth_flows=AuthFlow(admin_user_password=True, user_password=True)
            if deployment.sandbox
            else AuthFlow(user_srp=True),
            disable_o_auth=True,
            enable_token_revocation=True,
            id_token_validity=Duration.minutes(TOKEN_MINUTES),
            prevent_user_existence_errors=True,
            read_attributes=attributes.with_standard_attributes(email=True).with_custom_attributes(
                "customer_id", "tenant_id"
            ),
            # Naming one attribute takes the right to write all others, the two above included.
            write_attributes=attributes.with_standard_attributes(locale=True),
        )
