"""The servers that stand in for providers, and the benches over them."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self, cast

import boto3

from providers.s3_client import S3_CONFIG
from providers.ses_client import SES_CONFIG, SesMailer
from providers.stripe_client import StripeLibrary
from sandbox.aws import ACCESS_KEY, REGION, start_aws
from sandbox.clients import aws_client
from sandbox.mail import accepted_mail
from sandbox.stripe_seed import create_subscriber, stripe_client
from sandbox.stripe_server import API_KEY, start_stripe
from tests.contract.localstripe import localstripe_bench
from tests.contract.moto_s3 import s3_archive_bench
from tests.fakes.answer_loser import AnswerLoser
from tests.fakes.archive_bench import ARTIFACTS, PROJECTS
from tests.fakes.benches import (
    EMAIL,
    SENDER,
    Bench,
    billing_bench,
    receipt_bench,
    refund_bench,
)
from tests.fakes.clock import FakeClock
from tests.fakes.link_bench import FakeOwner, link_bench

_POSTS: Mapping[str, str] = {"refund": "/v1/refunds", "cancel_renewal": "/v1/subscriptions/*"}
_NO_MAIL_ELSEWHERE = "http://127.0.0.1:9"  # nothing here runs as a function of that AWS
_SEND = "POST /v2/email/outbound-emails"
_COMPLETE = rf"POST /{ARTIFACTS}/artifacts/[^?]+\?uploadId=.+"


class StripeServers:
    """The sandbox's Stripe, localstripe behind it, and what loses the answers of the latter."""

    def __init__(self, state_dir: Path) -> None:
        """Start them."""
        with ExitStack() as undo:
            self.sandbox = start_stripe(state_dir)
            undo.callback(self.sandbox.stop)
            self._loser = undo.enter_context(AnswerLoser(self.sandbox.localstripe.port))
            self._stop = undo.pop_all()

    def __enter__(self) -> Self:
        """Return the running servers."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop them."""
        self._stop.close()

    def subscriber(self) -> Mapping[str, str]:
        """Return a new customer with a subscription and a charge, before an empty log of keys."""
        self.sandbox.reset()  # every test uses the same key
        self._loser.forget()
        return vars(create_subscriber(stripe_client(self.sandbox.behind_url), EMAIL))

    def behind_the_proxy(self, operation: str) -> Bench:
        """Return an operation over the sandbox's Stripe."""
        subscriber = self.subscriber()
        make = refund_bench if operation == "refund" else billing_bench
        bench = make(StripeLibrary(API_KEY, self.sandbox.url), subscriber)
        bench.held = make(StripeLibrary(API_KEY, self.sandbox.behind_url), subscriber).held
        match = {"method": "POST", "path": _POSTS[operation]}
        bench.lose_next_answer = lambda: self.sandbox.arm(
            {"match": match, "fault": "commit_then_drop"}
        )
        bench.pass_seconds = self.sandbox.advance_clock
        path = f"subscriptions/{subscriber['subscription_id']}"
        bench.take_back = lambda: _ignore(
            self.sandbox.change_at_dashboard(path, {"cancel_at_period_end": "false"})
        )
        return bench

    @property
    def localstripe_url(self) -> str:
        """localstripe itself, whose answers may get lost."""
        return self._loser.url

    def localstripe(self, operation: str) -> Bench:
        """Return an operation over localstripe itself."""
        bench = localstripe_bench(self.localstripe_url, operation, self.subscriber())
        path = _POSTS[operation].replace("*", r"\w+")
        bench.lose_next_answer = lambda: self._loser.lose_next(f"POST {path}")
        return bench


class AwsServer:
    """The sandbox's AWS, and what loses its answers."""

    def __init__(self, state_dir: Path) -> None:
        """Start it."""
        with ExitStack() as undo:
            self._server = start_aws(state_dir, _NO_MAIL_ELSEWHERE)
            undo.callback(self._server.stop)
            self._loser = undo.enter_context(AnswerLoser(self._server.port))
            aws_client("sesv2", self._server.port).create_email_identity(EmailIdentity=SENDER)
            self._past_the_loser = aws_client("s3", self._server.port)
            for bucket in (ARTIFACTS, PROJECTS):
                self._past_the_loser.create_bucket(Bucket=bucket)
            # As functions make them, each a second's work.
            session = boto3.Session(
                aws_access_key_id=ACCESS_KEY, aws_secret_access_key=ACCESS_KEY, region_name=REGION
            )
            self._s3 = session.client("s3", endpoint_url=self._loser.url, config=S3_CONFIG)
            self._ses = session.client("sesv2", endpoint_url=self._loser.url, config=SES_CONFIG)
            self._stop = undo.pop_all()

    def __enter__(self) -> Self:
        """Return the running server."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop it."""
        self._stop.close()

    def archive(self) -> Bench:
        """Return the archive of a project over its S3, which holds nothing else."""
        self._loser.forget()
        for bucket in (ARTIFACTS, PROJECTS):
            self._empty(bucket)
        bench = s3_archive_bench(self._s3)
        bench.lose_next_answer = lambda: self._loser.lose_next(_COMPLETE)
        return bench

    def mail(self, operation: str, stripe: StripeServers) -> Bench:
        """Return a mail through its SES, to a customer of the sandbox's Stripe."""
        self._loser.forget()
        mailer = SesMailer(cast("Any", self._ses), SENDER, None)
        customer_id = stripe.subscriber()["customer_id"]
        library = StripeLibrary(API_KEY, stripe.sandbox.url)
        if operation == "receipt":
            bench = receipt_bench(mailer, library, customer_id)
        else:
            bench = link_bench(mailer, library, FakeOwner(customer_id), FakeClock())
        earlier = set(self._mails())
        bench.held = lambda: [found for found in self._mails() if found not in earlier]
        bench.lose_next_answer = lambda: self._loser.lose_next(_SEND)
        return bench

    def _mails(self) -> list[str]:
        return [mail.message_id for mail in accepted_mail(self._server.port)]

    def _empty(self, bucket: str) -> None:
        for found in self._past_the_loser.list_objects_v2(Bucket=bucket).get("Contents", ()):
            self._past_the_loser.delete_object(Bucket=bucket, Key=found["Key"])


def _ignore(_answer: object) -> None:
    """What the dashboard answers is of no interest."""
