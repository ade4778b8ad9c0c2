"""What may go wrong, where, how often; which of it did, and what of it a replay leaves out."""

from collections.abc import Mapping
from enum import StrEnum
from random import Random
from typing import Protocol

from tests.simulation.dice import Dice

# A kind is switched on in this share of the seeds. Seeds with few kinds go deep into one corner,
# where a mixture of all would smother every schedule in its first calls.
SHARE_SWITCHED_ON = 0.4
SHARE_RARE = 0.1  # what makes one schedule as long as ten others
RATES_PER_CALL = (0.01, 0.03, 0.08, 0.2)
BUDGETS = (0, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20)
# Each seed has some places in which far more goes wrong than elsewhere, so that faults meet.
HOT_PLACES = 2
HOTTER = 6


class Fault(StrEnum):
    """Whatever may strike any workflow. What only one meets, its scenario names."""

    CRASH = "crash before a call"
    CRASH_AFTER = "crash after a call"
    STALL = "frozen before a call"
    STALL_AFTER = "frozen after a call"
    SLOW = "slow call"
    STANDSTILL = "nothing of ours runs for a day"

    LEDGER_DOWN = "ledger without answer, nothing written"
    LEDGER_THROTTLED = "ledger throttles until the store gives up"
    COMMIT_ANSWER_LOST = "ledger without answer, written"
    COMMIT_CONFLICT = "transaction conflict"
    DUE_STALE = "stale due index: nominates what is not due"
    DUE_BLIND = "stale due index: misses what is due"

    START_UNANSWERED = "start without answer, not started"
    START_ANSWER_LOST = "start without answer, started"
    STATUS_UNANSWERED = "execution status without answer"
    RING_UNANSWERED = "doorbell without answer, not rung"
    RING_ANSWER_LOST = "doorbell without answer, rung"
    TOKEN_LOST = "task token lost"
    TOKEN_LATE = "task token late"
    TOKEN_TWICE = "task token twice"

    DUPLICATE_INVOCATION = "function invoked twice"
    KILLED = "execution ended from outside"
    REDRIVEN = "ended execution redriven"
    NOTICE_LOST = "notice lost"
    NOTICE_TWICE = "notice twice"
    NOTICE_LATE = "notice late"
    QUEUE_DOWN = "queue without answer, nothing taken"
    QUEUE_ANSWER_LOST = "queue without answer, taken"
    QUEUE_FULL = "queue takes nothing"
    MESSAGE_TWICE = "queue delivers twice"
    MESSAGE_LATE = "queue delivers late"
    TICK_TWICE = "two sweepers at once"
    MAIL_EVENT_LOST = "mail event lost"
    MAIL_EVENT_TWICE = "mail event twice"
    MAIL_EVENT_LATE = "mail event late"
    MAIL_EVENT_OVERTAKEN = "mail event after a newer one"

    READ_NO_ANSWER = "provider read without answer"
    READ_ERROR = "provider read answered 500"
    READ_PARTIAL = "provider list incomplete"
    OUTAGE = "provider reads down for minutes"

    NEVER_SENT = "write never sent"
    REQUEST_LOST = "write lost on its way"
    ANSWER_LOST = "write done, answer lost"
    LANDS_LATE = "write lands after it was given up"
    STUCK = "write still running after it was given up"
    SAVED_500_DONE = "500 saved under the key, done"
    SAVED_500_NOT_DONE = "500 saved under the key, not done"
    REFUSED = "write refused"
    THROTTLED = "write turned away unread"
    KEY_IN_USE = "key in use"
    KEY_CONFLICT = "key known with another request"
    UNREADABLE = "write done, answer unreadable"

    MAIL_BOUNCES = "mail bounces"
    MAIL_ANSWERED = "mail answered by a machine, which comes as a bounce"
    MAIL_UNWANTED = "mail delivered and complained of"
    MAIL_REJECTED = "mail accepted and then rejected"

    DECLINES = "customer declines"
    DECIDES_TWICE = "customer decides twice"
    TWO_PEOPLE = "two people decide differently"
    DECIDES_LATE = "customer decides about when the request expires"
    SILENT = "customer never decides"
    WRONG_DIGEST = "customer was shown something else"

    STALE_VIEW = "operator acts on an old view"
    FORBIDDEN_ACTION = "operator tries what is not allowed"
    RESTLESS = "operator acts unasked"
    ADDRESS_CHANGED = "customer's address changed"


ANY_CALL = (Fault.CRASH, Fault.CRASH_AFTER, Fault.STALL, Fault.STALL_AFTER, Fault.SLOW)
WRITE = (
    Fault.NEVER_SENT,
    Fault.REQUEST_LOST,
    Fault.ANSWER_LOST,
    Fault.LANDS_LATE,
    Fault.STUCK,
    Fault.SAVED_500_DONE,
    Fault.SAVED_500_NOT_DONE,
    Fault.REFUSED,
    Fault.THROTTLED,
    Fault.UNREADABLE,
)
KEYED = (*WRITE, Fault.KEY_IN_USE, Fault.KEY_CONFLICT)
READ = (*ANY_CALL, Fault.READ_NO_ANSWER, Fault.READ_ERROR, Fault.OUTAGE)
_REFUSED = (Fault.LEDGER_DOWN, Fault.LEDGER_THROTTLED)
_LEDGER = (*ANY_CALL, *_REFUSED)

type Sites = Mapping[str, tuple[int, tuple[StrEnum, ...]]]
"""Site: how much likelier a fault is there than at a call of the ledger, and which ones."""

type Places = tuple[tuple[str, ...], ...]
"""Sites that are struck together where they are struck often."""

SITES: Sites = {
    "load": (1, _LEDGER),
    "commit": (2, (*_LEDGER, Fault.STANDSTILL, Fault.COMMIT_ANSWER_LOST, Fault.COMMIT_CONFLICT)),
    "due": (
        1,
        (Fault.LEDGER_DOWN, Fault.LEDGER_THROTTLED, Fault.DUE_STALE, Fault.DUE_BLIND, Fault.CRASH),
    ),
    "start": (3, (*ANY_CALL, Fault.START_UNANSWERED, Fault.START_ANSWER_LOST)),
    "status": (3, (*ANY_CALL, Fault.STATUS_UNANSWERED)),
    "ring": (
        4,
        (
            *ANY_CALL,
            Fault.RING_UNANSWERED,
            Fault.RING_ANSWER_LOST,
            Fault.TOKEN_LOST,
            Fault.TOKEN_LATE,
            Fault.TOKEN_TWICE,
        ),
    ),
    "invoke": (2, (Fault.DUPLICATE_INVOCATION, Fault.DUPLICATE_INVOCATION, Fault.KILLED)),
    "ended": (8, (Fault.REDRIVEN,)),
    "notice": (8, (Fault.NOTICE_LOST, Fault.NOTICE_TWICE, Fault.NOTICE_LATE)),
    "queue": (
        4,
        (
            *ANY_CALL,
            Fault.QUEUE_DOWN,
            Fault.QUEUE_ANSWER_LOST,
            Fault.QUEUE_FULL,
            Fault.MESSAGE_TWICE,
            Fault.MESSAGE_LATE,
        ),
    ),
    "tick": (4, (Fault.TICK_TWICE,)),
    "decide": (
        8,
        (
            Fault.DECLINES,
            Fault.DECIDES_TWICE,
            Fault.TWO_PEOPLE,
            Fault.DECIDES_LATE,
            Fault.SILENT,
            Fault.WRONG_DIGEST,
        ),
    ),
    "operate": (8, (Fault.STALE_VIEW, Fault.FORBIDDEN_ACTION)),
}
"""What every run meets, whatever it is about. A scenario adds what its providers meet."""

PLACES: Places = (
    ("load", "commit", "due"),
    ("invoke", "ended", "notice", "start", "status", "tick", "queue"),
    ("ring", "decide", "operate"),
)
MAIL_SITES: Sites = {
    "mail": (8, (*ANY_CALL, *WRITE)),
    "mail event": (
        12,
        (
            Fault.MAIL_EVENT_LOST,
            Fault.MAIL_EVENT_TWICE,
            Fault.MAIL_EVENT_LATE,
            Fault.MAIL_EVENT_OVERTAKEN,
        ),
    ),
    "mailbox": (
        16,
        (
            Fault.MAIL_BOUNCES,
            Fault.MAIL_ANSWERED,
            Fault.MAIL_UNWANTED,
            Fault.MAIL_REJECTED,
        ),
    ),
}
"""What a scenario meets that sends mails."""

HIGHEST_RATE = 0.7  # something has to succeed between two faults


class Struck(Protocol):
    """What may be struck, where and how: a scenario."""

    @property
    def sites(self) -> Sites: ...
    @property
    def places(self) -> Places: ...
    @property
    def kinds(self) -> tuple[StrEnum, ...]: ...
    @property
    def rare(self) -> Mapping[StrEnum, StrEnum]: ...


class Plan:
    """Which faults a seed injects. The choice at one call does not depend on other processes."""

    def __init__(
        self,
        rng: Random,
        scenario: Struck,
        dropped: frozenset[str],
        focus: frozenset[StrEnum] = frozenset(),
    ) -> None:
        """Choose kinds, rate and budget; leave out the faults that are named in ``dropped``.

        Most of its ``rare`` kinds are another kind instead. With a ``focus``, only those kinds are
        injected, and often.
        """
        self.injected: list[tuple[str, StrEnum]] = []
        """Name and kind of what was injected, in order."""

        self.budget = rng.choice(BUDGETS)
        rate = rng.choice(RATES_PER_CALL)
        on = {kind for kind in scenario.kinds if rng.random() < SHARE_SWITCHED_ON}
        hot = {site for place in rng.sample(scenario.places, HOT_PLACES) for site in place}
        if focus:
            on, hot = set(focus), set(scenario.sites)
        self._rare = scenario.rare
        self._dropped = dropped
        self._spent = 0
        self._tables: dict[str, tuple[float, tuple[StrEnum, ...]]] = {}
        if self.budget:
            for site, (weight, kinds) in scenario.sites.items():
                here = tuple(kind for kind in kinds if kind in on)
                times = weight * (HOTTER if site in hot else 1)
                if here:
                    self._tables[site] = (min(rate * times, HIGHEST_RATE), here)

    def choose[Kind: StrEnum](self, who: str, kind: Kind) -> Kind | None:
        """Return what is decided once for a whole world, None when a replay leaves it out."""
        name = f"{who}#0"
        if name in self._dropped:
            return None
        self.injected.append((name, kind))
        return kind

    def calm(self) -> None:
        """Inject nothing from now on."""
        self._tables.clear()

    def pick(self, site: str, who: str, number: int, rng: Dice) -> StrEnum | None:
        """Return the fault that strikes the ``number``-th call of ``who``, mostly None."""
        if not self._tables:
            return None
        table = self._tables.get(site)
        if table is None or rng.random() >= table[0]:
            return None
        kind = table[1][int(rng.random() * len(table[1]))]
        if kind in self._rare and rng.random() > SHARE_RARE:
            kind = self._rare[kind]
        self._spent += 1
        if self._spent >= self.budget:
            self.calm()
        name = f"{who}#{number}"
        if name in self._dropped:
            return None
        self.injected.append((name, kind))
        return kind
