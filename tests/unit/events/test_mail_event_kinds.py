"""The mail service's events settle every kind of mail, each by what its own frozen text says."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.memory_store import MemoryStore
from events.mail_event import MailEvent, handle_mail_event
from ledger.effect import Effect
from ledger.ports import Ports
from ledger.store import LedgerStore
from ledger.transitions import EffectState, RunState
from providers.mail_kinds import MAIL_KINDS
from tests.delivered import DELIVERY, Wish, write_delivered
from tests.fakes.archive_bench import archive_world
from tests.fakes.link_bench import link_world
from tests.fakes.ses import SentMail
from tests.recovery.mail_feed import mail_event
from tests.recovery.scenario import finish
from tests.recovery.world import World

ADDRESS = "zebra.lovelace@marker.example"


class Post:
    """A ledger with one mail whose outcome is not known, and who hears of it."""

    def __init__(self, kind: str) -> None:
        """Bring the mail of ``kind`` about."""
        self.world = World()
        self.store: LedgerStore = MemoryStore()
        self.link = link_world().bench.provider
        self.mail = self._link() if kind == "ses_artifact_link" else self._receipt()

    def tell(self, detail_type: str, **more: Any) -> str:
        """Hand an event about the mail over; return what was done."""
        tags = {"run_id": self.run_id, "effect_id": self.mail.effect_id}
        sent = SentMail("message-7", ADDRESS, "s", "t", tags, 0)
        event = MailEvent.model_validate(mail_event(detail_type, sent, **more))
        return handle_mail_event(self._joined(), event)

    @property
    def now(self) -> Effect:
        """Return the mail as the ledger has it."""
        ledger = self.store.load(self.run_id)
        assert ledger is not None
        return ledger.require_effect(self.mail.effect_id)

    def _joined(self) -> Ports:
        joined = self.world.outside.join(self.world.orchestrator)
        providers = {**joined.providers, "ses_artifact_link": self.link}
        return replace(joined, providers=providers, store=self.store)

    def _link(self) -> Effect:
        now_ms = self.world.clock.now_ms()
        wish = Wish(
            customer_id="cus_1",
            tenant_id="tenant-1",
            project_id="prj_1",
            now_ms=now_ms,
            delivery=EffectState.UNKNOWN,
            run=RunState.REVIEW,
        )
        ledger = write_delivered(self.store, archive_world().provider, wish)
        self.run_id = ledger.run.run_id
        (mail,) = (found for found in ledger.effects if found.operation == DELIVERY)
        return mail

    def _receipt(self) -> Effect:
        finish(self.world)
        ledger = self.world.ledger
        mail = ledger.newest_effect("receipt")
        assert mail is not None
        self.store = self.world.store
        self.run_id = ledger.run.run_id
        return mail


@pytest.fixture(params=sorted(MAIL_KINDS))
def post(request: pytest.FixtureRequest) -> Post:
    """Return a mail of each kind."""
    return Post(request.param)


def test_what_was_sent_is_known_by_its_frozen_text(post: Post) -> None:
    assert post.tell("Email Sent") == "sent"

    (late,) = post.now.late_results
    assert late.record.fields == post.mail.bound
    assert late.record.record_id == "message-7"
    assert ADDRESS not in post.now.model_dump_json()


def test_a_bounce_contradicts_it(post: Post) -> None:
    post.tell("Email Bounced", bounce={"bounceType": "Permanent", "bounceSubType": "General"})

    assert post.now.state is EffectState.CONTRADICTED


def test_a_link_in_doubt_is_confirmed_by_its_event() -> None:
    post = Post("ses_artifact_link")

    post.tell("Email Delivered")

    assert post.now.state is EffectState.CONFIRMED
    assert post.now.evidence is not None
    assert post.now.evidence.fields == post.mail.bound
