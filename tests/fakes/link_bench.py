"""The mail with a link to an artifact, wired to a world in which its write is allowed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ledger.provider import Authority
from ledger.record import Scalar
from providers.ses_artifact_link import SesArtifactLink
from providers.ses_client import SesMailer
from providers.stripe_api import StripeApi
from providers.stripe_customers import StripeCustomers
from tests.fakes.benches import EMAIL, SENDER, Bench, Guard, fake_stripe, library
from tests.fakes.clock import FakeClock
from tests.fakes.ses import FakeSes, MailFault
from tests.fakes.stripe import FakeStripe

SITE_URL = "https://pages.example"
LINK_LIFETIME_MS = 7 * 24 * 3600 * 1000


@dataclass
class FakeOwner:
    """What knows whose artifacts are."""

    owner_id: str = "cus_1"

    def authority(self, bound: Mapping[str, Scalar], _personal: Mapping[str, str]) -> Authority:
        """Return whether the project is still this customer's."""
        allowed = bound["customer_id"] == self.owner_id
        reason = "the project is theirs" if allowed else "the project is somebody else's now"
        return Authority(allowed=allowed, reason=reason, snapshot={"owned": allowed})


@dataclass
class LinkWorld:
    """Everything that the mail with a link meets."""

    clock: FakeClock
    stripe: FakeStripe
    ses: FakeSes
    owner: FakeOwner
    bench: Bench


def link_world() -> LinkWorld:
    """Return a world with one customer, whose artifact waits for them for a week."""
    clock, owner = FakeClock(), FakeOwner()
    stripe, ses = fake_stripe(clock), FakeSes(clock)
    mailer = SesMailer(cast("Any", ses), SENDER, "receipts")
    bench = link_bench(mailer, library(stripe), owner, clock)
    bench.held = lambda: [mail.message_id for mail in ses.sent]
    bench.lose_next_answer = lambda: ses.fail_next(MailFault.ACCEPT_THEN_DROP)
    return LinkWorld(clock, stripe, ses, owner, bench)


def link_bench(mailer: SesMailer, stripe: StripeApi, owner: FakeOwner, clock: FakeClock) -> Bench:
    """Return the mail with a link to the artifact of the owner's project, valid for a week."""
    bound: dict[str, Scalar] = {
        "customer_id": owner.owner_id,
        "project_id": "prj_1",
        "artifact_id": "art_1",
        "valid_until_ms": (clock.now_ms() // 1000) * 1000 + LINK_LIFETIME_MS,
    }
    provider = SesArtifactLink(mailer, StripeCustomers(stripe), owner, SITE_URL, clock.now_ms)
    return Bench(provider, "deliver_link", bound, {"email": EMAIL}, Guard.NOTHING)
