"""What comes from outside: a notice that names an effect, and the mail service's own events."""

from typing import Any

from ledger.event import Actor
from ledger.notice import look_again, tell
from ledger.provider import ProviderRecord, RecordStatus
from tests.unit.ledger.desk import CLOSE, act
from tests.unit.ledger.sample import RECEIPT_ID, REFUND_ID, RUN_ID
from tests.unit.ledger.support import World

NOTICE = Actor(kind="provider", actor_id="payments")


def notified(world: World, effect_id: str = REFUND_ID) -> bool:
    """Return whether a notice about the effect was followed."""
    return look_again(world.ports, RUN_ID, effect_id, NOTICE)


def a_mail(world: World, **overrides: Any) -> ProviderRecord:
    """Return the first mail as its service's event feed tells of it."""
    return ProviderRecord.model_validate(
        {
            "record_id": "post_1",
            "status": RecordStatus.DONE,
            "provider_status": "delivered",
            "mark": RECEIPT_ID,
            "fields": world.post.calls[0].bound,
            **overrides,
        }
    )


def heard(world: World, **overrides: Any) -> bool:
    """Return whether an event about the first mail was taken."""
    return tell(world.ports, RUN_ID, RECEIPT_ID, a_mail(world, **overrides), NOTICE)


def came_back(world: World, provider_status: str = "bounced") -> bool:
    """Return whether the event that the first mail was not taken by its reader was heard."""
    return heard(world, status=RecordStatus.FAILED, provider_status=provider_status)


def lands(world: World, record_id: str = "re_late", **fields: Any) -> None:
    """Let the provider show the record of its first call, late."""
    record = world.payments.record(world.payments.calls[0], RecordStatus.DONE, fields)
    world.payments.held.append(record.model_copy(update={"record_id": record_id}))


def fails_later(world: World) -> None:
    """Let the one refund that the provider holds fail after it had succeeded."""
    (made,) = world.payments.held
    world.payments.held = [
        made.model_copy(update={"status": RecordStatus.FAILED, "provider_status": "failed"})
    ]


def closed(world: World) -> World:
    """Return the world after an operator closed its run as it is."""
    world.change(lambda draft: draft.send_to_review("a person asked"))
    act(world, CLOSE)
    return world
