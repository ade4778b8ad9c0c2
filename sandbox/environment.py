"""The whole sandbox: started, deployed, seeded, used, and gone without a trace in the end."""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from botocore.exceptions import BotoCoreError, ClientError

from sandbox.api_client import Api
from sandbox.aws import REGION, endpoint, start_aws
from sandbox.aws_seed import (
    MAIL_FROM,
    SAMPLE_PASSWORD,
    STRIPE_SECRET_ID,
    SampleUser,
    create_users,
    sample_users,
    seed_before_deploy,
    sign_in,
)
from sandbox.deploy import Deployment, deploy, required
from sandbox.function_logs import save_function_logs
from sandbox.interrupts import undisturbed
from sandbox.mail import mail_url
from sandbox.mail_gateway import MailGateway
from sandbox.metrics import MetricFeed
from sandbox.outputs import Outputs
from sandbox.project_seed import (
    PROJECT_ID,
    PROJECTS_BUCKET,
    create_project,
    create_projects_bucket,
)
from sandbox.runtime import stage_functions
from sandbox.stripe_seed import (
    CHARGE_AMOUNT_MINOR,
    CURRENCY,
    Subscriber,
    create_subscriber,
    stripe_client,
)
from sandbox.stripe_server import StripeSandbox, start_stripe
from sandbox.surroundings import reach_this_machine_directly
from sandbox.warm import warm_functions
from sandbox.workspace import PROJECT

Report = Callable[[str], None]
"""Told, in a few words, what is being done now."""

CUSTOMER_EMAIL = "customer@recovery-ledger.example"
_ARN_SUFFIX = "StateMachineArn"


def _say_nothing(_step: str) -> None:
    """The report of a sandbox nobody watches."""


@dataclass(frozen=True)
class _Deployed:
    aws_port: int
    stripe: StripeSandbox
    mail: MailGateway
    stack_outputs: dict[str, str]
    users: tuple[SampleUser, ...]
    subscriber: Subscriber
    ready_at_ms: int
    """What the functions logged before is only that warming up gave them nothing to do."""


class Sandbox:
    """`with Sandbox(directory) as sandbox:` gives a deployed, seeded, warm system.

    `directory` must be this sandbox's alone; logs, the cloud assembly and temporary files go there.
    Leaving the block, for whatever reason, ends every process it started.
    """

    def __init__(
        self, directory: Path, project: Path = PROJECT, report: Report = _say_nothing
    ) -> None:
        self._directory = directory
        self._project = project
        self._report = report
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        reach_this_machine_directly(os.environ)
        try:
            self._deployed = self._build(self._undo)
            self.outputs = self.sign_in_again()
            self.api = Api(self.outputs.api_url, self.outputs.api_host_header, self.outputs.tokens)
            self._undo.callback(self.api.close)
            self._send_notices()
            self._carry_metrics()
            self._undo.callback(self._save_logs)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._report("Stopping")
        self._close()

    def _close(self) -> None:
        with undisturbed():
            self._undo.close()

    @property
    def stripe(self) -> StripeSandbox:
        return self._deployed.stripe

    @property
    def mail(self) -> MailGateway:
        """The mail service's switches: what it loses, and what it tells."""
        return self._deployed.mail

    @property
    def aws_port(self) -> int:
        return self._deployed.aws_port

    @property
    def subscriber(self) -> Subscriber:
        """The sample customer, the one whom the user "customer" signs in as."""
        return self._deployed.subscriber

    def create_subscriber(self, email: str) -> Subscriber:
        """One more paying customer, for a test that wants a charge of its own."""
        return create_subscriber(stripe_client(self.stripe.url), email)

    def sign_in_again(self) -> Outputs:
        """The outputs with fresh tokens: those given before expire after an hour."""
        stacks = self._deployed.stack_outputs
        pool_id = required(stacks, "UserPoolId")
        client_id = required(stacks, "UserPoolClientId")
        return Outputs(
            api_url=endpoint(self.aws_port),
            api_host_header=_api_host(required(stacks, "ApiUrl"), self.aws_port),
            console_url=required(stacks, "ConsoleUrl"),
            sign_in_names={user.name: user.email for user in self._deployed.users},
            sign_in_password=SAMPLE_PASSWORD,
            aws_endpoint=endpoint(self.aws_port),
            aws_region=REGION,
            stripe_url=self.stripe.url,
            stripe_control_url=f"{self.stripe.url}/_sandbox",
            stripe_behind_url=self.stripe.behind_url,
            mail_url=mail_url(self.aws_port),
            customer_id=self.subscriber.customer_id,
            subscription_id=self.subscriber.subscription_id,
            charge_id=self.subscriber.charge_id,
            charge_amount_minor=CHARGE_AMOUNT_MINOR,
            currency=CURRENCY,
            project_id=PROJECT_ID,
            projects_bucket=PROJECTS_BUCKET,
            artifacts_bucket=required(stacks, "ArtifactsBucketName"),
            ledger_table=required(stacks, "LedgerTableName"),
            alarm_topic_arn=required(stacks, "AlarmTopicArn"),
            state_machine_arns={
                name.removesuffix(_ARN_SUFFIX): arn
                for name, arn in stacks.items()
                if name.endswith(_ARN_SUFFIX)
            },
            user_pool_id=pool_id,
            user_pool_client_id=client_id,
            tokens=sign_in(self.aws_port, pool_id, client_id, self._deployed.users),
        )

    def _send_notices(self) -> None:
        """Gives Stripe the address for its notices, as an operator does once at its dashboard."""
        url = f"{self.outputs.api_url}/notices/stripe"
        self.stripe.send_notices_to(url, self.outputs.api_host_header)

    def _carry_metrics(self) -> None:
        """Makes metrics of what the functions say, as AWS does, until the sandbox is stopped."""
        feed = MetricFeed(self.aws_port, self._deployed.ready_at_ms)
        feed.start()
        self._undo.callback(feed.stop)

    def _save_logs(self) -> None:
        """Never stands in the way of stopping: the AWS may be what broke."""
        try:
            save_function_logs(
                self.aws_port, self._directory / "functions.log", self._deployed.ready_at_ms
            )
        except (BotoCoreError, ClientError) as error:
            self._report(f"The functions' logs could not be read: {error}")

    def _build(self, undo: ExitStack) -> _Deployed:
        self._report("Starting the embedded AWS and the Stripe sandbox")
        mail = MailGateway()
        undo.callback(mail.stop)
        aws = start_aws(self._directory, mail.url)
        undo.callback(aws.stop)
        mail.forward_to(aws.port)
        # A fault may kill function workers; those are the only processes below the AWS server.
        stripe = start_stripe(self._directory, killable_below=aws.pid)
        undo.callback(stripe.stop)
        seed_before_deploy(aws.port)
        create_projects_bucket(aws.port)
        self._report("Synthesizing and deploying the CDK app")
        stack_outputs = self._deploy(aws.port, stripe.url)
        self._report("Seeding a customer with a paid subscription and a project, and sample users")
        subscriber = create_subscriber(stripe_client(stripe.url), CUSTOMER_EMAIL)
        create_project(aws.port, PROJECT_ID, subscriber.customer_id)
        users = sample_users(subscriber.customer_id)
        create_users(aws.port, required(stack_outputs, "UserPoolId"), users)
        self._report("Starting function environments")
        warm_functions(aws.port)
        return _Deployed(
            aws.port, stripe, mail, stack_outputs, users, subscriber, int(time.time() * 1000)
        )

    def _deploy(self, aws_port: int, stripe_url: str) -> dict[str, str]:
        staged = stage_functions(self._project / "functions", self._directory / "functions")
        context = {
            "sandbox": "true",
            "functions_path": str(staged),
            "stripe_api_base": stripe_url,
            "sign_in_url": endpoint(aws_port),
            "stripe_secret_id": STRIPE_SECRET_ID,
            "mail_from": MAIL_FROM,
            "projects_bucket": PROJECTS_BUCKET,
        }
        return deploy(Deployment(self._project, self._directory, aws_port), context)


def _api_host(deployed_url: str, aws_port: int) -> str:
    """The emulator finds an API by this name; the deployed URL's first label is its id."""
    api_id = deployed_url.partition("//")[2].partition(".")[0]
    return f"{api_id}.execute-api.localhost:{aws_port}"
