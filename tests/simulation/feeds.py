"""What the providers tell unasked: lost, late, twice, overtaken, and again when nobody took it."""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from events.mail_event import MailEvent, handle_mail_event
from ledger.errors import LedgerError
from tests.simulation.dice import Dice
from tests.simulation.faults import Fault
from tests.simulation.mail_news import (
    DELIVERED,
    DELIVERED_AFTER_MS,
    NEVER_ARRIVES,
    NEWS,
    SENT,
    MailNews,
)
from tests.simulation.outside import Mail
from tests.simulation.process import Process, ProcessDied

if TYPE_CHECKING:
    from tests.simulation.world import World

SOON_MS = (200, 3_000)
LATE_MS = (60_000, 48 * 3_600_000)
OVERTAKEN_BY_MS = (1, 60_000)
# Lambda repeats an asynchronous invocation that failed twice, after one and two minutes.
MAIL_AGAIN_MS = (60_000, 120_000)


class Mishaps(NamedTuple):
    """What may happen to a message of one feed on its way."""

    lost: StrEnum
    twice: StrEnum
    late: StrEnum
    overtaken: StrEnum


class Feed[T]:
    """One provider's messages on their way to the function that hears them."""

    def __init__(
        self,
        world: "World",
        name: str,
        mishaps: Mishaps,
        again_ms: tuple[int, ...],
        hear: Callable[[Process, T], None],
    ) -> None:
        """Start silent. ``name`` is the site of the mishaps and the kind of the processes."""
        self._world = world
        self._name = name
        self._mishaps = mishaps
        self._again_ms = again_ms
        self._hear = hear
        self._told = 0
        self._held: tuple[str, T] | None = None

    def tell(self, what: T) -> None:
        """Send a message."""
        self._told += 1
        who = f"{self._name}{self._told}"
        rng = Dice(self._world.seed, who)
        struck = self._world.plan.pick(self._name, who, 0, rng)
        if struck is self._mishaps.lost:
            return
        if struck is self._mishaps.overtaken:
            self._hold(who, what)
            return
        delay_ms = _late(rng) if struck is self._mishaps.late else rng.within(*SOON_MS)
        self._deliver(who, what, delay_ms)
        if struck is self._mishaps.twice:
            self._deliver(f"{who}b", what, delay_ms + _late(rng))
        if self._held is not None:
            earlier, self._held = self._held, None
            self._deliver(*earlier, delay_ms + rng.within(*OVERTAKEN_BY_MS))

    def _hold(self, who: str, what: T) -> None:
        """Keep a message back until a newer one has gone ahead, or for so long that none will."""
        held = self._held = (who, what)

        def let_go() -> None:
            if self._held is held:
                self._held = None
                self._deliver(who, what, 0)

        scheduler = self._world.scheduler
        scheduler.at(scheduler.now_ms + LATE_MS[1], let_go, outside=True)

    def _deliver(self, who: str, what: T, delay_ms: int, redeliveries: int = 0) -> None:
        def deliver(process: Process) -> None:
            try:
                self._hear(process, what)
            except (ProcessDied, LedgerError):
                if redeliveries < len(self._again_ms):
                    self._deliver(f"{who}r", what, self._again_ms[redeliveries], redeliveries + 1)
                raise

        self._world.run_process(self._name, who, deliver, delay_ms=delay_ms)


def _late(rng: Dice) -> int:
    """Return a delay, minutes as likely as days."""
    low, high = LATE_MS
    return int(low * (high / low) ** rng.random())


class MailFeed:
    """What the mail service of one world tells."""

    def __init__(self, world: "World") -> None:
        """Listen to the world's mail service."""
        self._world = world
        self._mails = 0
        self._feed = Feed(
            world,
            "mail event",
            Mishaps(
                Fault.MAIL_EVENT_LOST,
                Fault.MAIL_EVENT_TWICE,
                Fault.MAIL_EVENT_LATE,
                Fault.MAIL_EVENT_OVERTAKEN,
            ),
            MAIL_AGAIN_MS,
            _hear,
        )

    def mailed(self, mail: Mail) -> None:
        """Tell that a mail was sent, and later what became of it, as the mail service does."""
        world = self._world
        self._mails += 1
        who = f"mailbox{self._mails}"
        rng = Dice(world.seed, who)
        struck = world.plan.pick("mailbox", who, 0, rng)
        self._feed.tell((mail, SENT))
        if struck not in NEVER_ARRIVES:
            self._later(mail, DELIVERED, rng.within(*DELIVERED_AFTER_MS))
        if struck is not None:
            news = NEWS[struck]
            self._later(mail, news, rng.within(*news.after_ms))

    def _later(self, mail: Mail, news: MailNews, delay_ms: int) -> None:
        scheduler = self._world.scheduler
        at_ms = scheduler.now_ms + delay_ms
        scheduler.at(at_ms, lambda: self._feed.tell((mail, news)), outside=True)


def _hear(process: Process, told: tuple[Mail, MailNews]) -> None:
    mail, news = told
    event = MailEvent.model_validate(
        {
            "detail-type": news.detail_type,
            "detail": {
                "mail": {
                    "messageId": mail.message_id,
                    "tags": {name: [value] for name, value in mail.tags.items()},
                },
                "bounce": news.bounce,
            },
        }
    )
    process.told = told
    process.world.check.told.begins(mail)
    handle_mail_event(process.ports, event)
    process.world.check.told.was_used(mail, news)
