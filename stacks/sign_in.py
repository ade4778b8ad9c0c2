"""Who may call the API: a user pool whose attributes the users themselves cannot set."""

from typing import cast

from aws_cdk import Duration, Fn, RemovalPolicy, Stack
from aws_cdk.aws_cognito import (
    AccountRecovery,
    AuthFlow,
    CfnUserPoolClient,
    ClientAttributes,
    CognitoDomainOptions,
    Mfa,
    MfaSecondFactor,
    OAuthFlows,
    OAuthScope,
    OAuthSettings,
    PasswordPolicy,
    SignInAliases,
    StringAttribute,
    UserPool,
    UserPoolClient,
    UserPoolClientIdentityProvider,
)
from constructs import Construct

from stacks.acknowledge import acknowledge
from stacks.deployment import Deployment

GROUPS = ("agents", "operators")
PASSWORD_LENGTH_MIN = 12
# A decision about money is made by whoever signed in lately.
TOKEN_MINUTES = 60
# Where the sign-in pages send people back to, with a code that only the asking page can redeem.
RETURN_PATH = "/signed-in"


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
        domain_url = self._domain_url(deployment)
        self.url = deployment.sign_in_url or domain_url
        """Where people sign in."""

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

    def return_to(self, origin: str, leave_to: str) -> None:
        """Let the sign-in pages send people back to the pages at ``origin``, and nowhere else.

        ``leave_to`` is the path they come to when they have signed out.
        """
        # Only now: the API, whose address this is, has to know the client first.
        client = cast(CfnUserPoolClient, self.client.node.default_child)
        client.callback_ur_ls = [f"{origin}{RETURN_PATH}"]
        client.logout_ur_ls = [f"{origin}{leave_to}"]

    def _domain_url(self, deployment: Deployment) -> str:
        # A prefix is one for all accounts of a region: this stack's own id makes it nobody else's.
        stack_uuid = Fn.select(2, Fn.split("/", Stack.of(self).stack_id))
        prefix = f"{deployment.name.lower()}-{Fn.select(0, Fn.split('-', stack_uuid))}"
        options = CognitoDomainOptions(domain_prefix=prefix)
        return self.pool.add_domain("Domain", cognito_domain=options).base_url()

    def _client(self, deployment: Deployment) -> UserPoolClient:
        attributes = ClientAttributes()
        return self.pool.add_client(
            "Api",
            # Passwords go over the wire only to the sandbox, whose users are samples.
            auth_flows=AuthFlow(admin_user_password=True, user_password=True)
            if deployment.sandbox
            else AuthFlow(user_srp=True),
            # A code for one page, no token in an address; PKCE in place of a secret, which a page
            # could not keep.
            generate_secret=False,
            o_auth=OAuthSettings(
                flows=OAuthFlows(authorization_code_grant=True), scopes=[OAuthScope.OPENID]
            ),
            supported_identity_providers=[UserPoolClientIdentityProvider.COGNITO],
            enable_token_revocation=True,
            id_token_validity=Duration.minutes(TOKEN_MINUTES),
            prevent_user_existence_errors=True,
            read_attributes=attributes.with_standard_attributes(email=True).with_custom_attributes(
                "customer_id", "tenant_id"
            ),
            # Naming one attribute takes the right to write all others, the two above included.
            write_attributes=attributes.with_standard_attributes(locale=True),
        )
