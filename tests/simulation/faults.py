"""What may go wrong, where, how often; which of it did, and what of it a replay leaves out."""

from collections.abc import Mapping
from enum import StrEnum
from random import Random

from tests.simulation.dice import Dice

# A kind is switched on in this share of the seeds. Seeds with few kinds go deep into one corner,
# where a mixture of all would smother every schedule in its first calls.
SHARE_SWITCHED_ON = 0.4
SHARE_FOR_EVER = 0.1  # two weeks of hourly reads take as long as ten other schedules
RATES_PER_CALL = (0.01, 0.03, 0.08, 0.2)
BUDGETS = (0, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20)
# Each seed has some places in which far more goes wrong than elsewhere, so that faults meet.
HOT_PLACES = 2
HOTTER = 6


class Fault(StrEnum):
    """Everything that a seed may inject."""

    CRASH = "crash before a call"
    CRASH_AFTER = "crash after a call"
    STALL = "frozen before a call"
    STALL_AFTER = "frozen after a call"
    SLOW = "slow call"
    STANDSTILL = "nothing of ours runs for a day"

    LEDGER_DOWN = "ledger without answer, nothing written"
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
    TICK_TWICE = "two sweepers at once"
    PROVIDER_NOTICE_LOST = "provider's notice lost"
    PROVIDER_NOTICE_TWICE = "provider's notice twice"
    PROVIDER_NOTICE_LATE = "provider's notice late"
    PROVIDER_NOTICE_OVERTAKEN = "provider's notice after a newer one"
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
    COLLEAGUE_FASTER = "write lost on its way, and a colleague does it by hand"
    REFUSED = "write refused"
    THROTTLED = "write turned away unread"
    KEY_IN_USE = "key in use"
    KEY_CONFLICT = "key known with another request"
    UNREADABLE = "write done, answer unreadable"
    PENDING_THEN_DONE = "refund pending, succeeds later"
    PENDING_THEN_FAILED = "refund pending, fails later"
    PENDING_FOR_EVER = "refund pending for ever"
    FAILS_LATER = "refund succeeded, fails later"

    MAIL_BOUNCES = "mail bounces"
    MAIL_ANSWERED = "mail answered by a machine, which comes as a bounce"
    MAIL_UNWANTED = "mail delivered and complained of"
    MAIL_REJECTED = "mail accepted and then rejected"

    DASHBOARD_EQUAL = "equal refund by a colleague, without our mark"
    DASHBOARD_PARTIAL = "other refund by a colleague"
    RENEWAL_OFF = "renewal switched off by a colleague"
    RENEWAL_ON = "renewal switched on again"
    DISPUTED = "charge disputed"
    ADDRESS_CHANGED = "customer's address changed"

    DECLINES = "customer declines"
    DECIDES_TWICE = "customer decides twice"
    TWO_PEOPLE = "two people decide differently"
    DECIDES_LATE = "customer decides about when the request expires"
    SILENT = "customer never decides"
    WRONG_DIGEST = "customer was shown something else"

    STALE_VIEW = "operator acts on an old view"
    FORBIDDEN_ACTION = "operator tries what is not allowed"
    RESTLESS = "operator acts unasked"


ANY_CALL = (Fault.CRASH, Fault.CRASH_AFTER, Fault.STALL, Fault.STALL_AFTER, Fault.SLOW)
_WRITE = (
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
_KEYED = (*_WRITE, Fault.COLLEAGUE_FASTER, Fault.KEY_IN_USE, Fault.KEY_CONFLICT)
_LEDGER = (*ANY_CALL, Fault.LEDGER_DOWN)

SITES: Mapping[str, tuple[int, tuple[Fault, ...]]] = {
    # Site: how much likelier a fault is there than at a call of the ledger, and which ones.
    "load": (1, _LEDGER),
    "commit": (2, (*_LEDGER, Fault.STANDSTILL, Fault.COMMIT_ANSWER_LOST, Fault.COMMIT_CONFLICT)),
    "due": (1, (Fault.LEDGER_DOWN, Fault.DUE_STALE, Fault.DUE_BLIND, Fault.CRASH)),
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
    "tick": (4, (Fault.TICK_TWICE,)),
    "stripe notice": (
        4,
        (
            Fault.PROVIDER_NOTICE_LOST,
            Fault.PROVIDER_NOTICE_TWICE,
            Fault.PROVIDER_NOTICE_LATE,
            Fault.PROVIDER_NOTICE_OVERTAKEN,
        ),
    ),
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
    "read": (2, (*ANY_CALL, Fault.READ_NO_ANSWER, Fault.READ_ERROR, Fault.OUTAGE)),
    "list": (
        4,
        (
            *ANY_CALL,
            Fault.STANDSTILL,
            Fault.READ_NO_ANSWER,
            Fault.READ_ERROR,
            Fault.READ_PARTIAL,
            Fault.OUTAGE,
        ),
    ),
    "cancel": (8, (*ANY_CALL, *_KEYED)),
    "refund": (
        12,
        (
            *ANY_CALL,
            *_KEYED,
            Fault.PENDING_THEN_DONE,
            Fault.PENDING_THEN_FAILED,
            Fault.PENDING_FOR_EVER,
            Fault.FAILS_LATER,
        ),
    ),
    "mail": (8, (*ANY_CALL, *_WRITE)),
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
    "world": (
        2,
        (
            Fault.DASHBOARD_EQUAL,
            Fault.DASHBOARD_PARTIAL,
            Fault.RENEWAL_OFF,
            Fault.RENEWAL_ON,
            Fault.DISPUTED,
            Fault.ADDRESS_CHANGED,
            Fault.RESTLESS,
        ),
    ),
}
PLACES: tuple[tuple[str, ...], ...] = (
    ("cancel", "refund", "mail"),
    ("read", "list"),
    ("load", "commit", "due"),
    ("invoke", "ended", "notice", "start", "status", "tick"),
    ("ring", "decide", "operate"),
    ("world",),
    ("stripe notice", "mail event", "mailbox"),
)
_ALL = tuple(Fault)
HIGHEST_RATE = 0.7  # something has to succeed between two faults


class Plan:
    """Which faults a seed injects. The choice at one call does not depend on other processes."""

    def __init__(
        self, rng: Random, dropped: frozenset[str], focus: frozenset[Fault] = frozenset()
    ) -> None:
        """Choose kinds, rate and budget; leave out the faults that are named in ``dropped``.

        With a ``focus``, only those kinds are injected, and often.
        """
        self.injected: list[tuple[str, Fault]] = []
        """Name and kind of what was injected, in order."""

        self.budget = rng.choice(BUDGETS)
        rate = rng.choice(RATES_PER_CALL)
        on = {kind for kind in _ALL if rng.random() < SHARE_SWITCHED_ON}
        hot = {site for place in rng.sample(PLACES, HOT_PLACES) for site in place}
        if focus:
            on, hot = set(focus), set(SITES)
        self._dropped = dropped
        self._spent = 0
        self._tables: dict[str, tuple[float, tuple[Fault, ...]]] = {}
        if self.budget:
            for site, (weight, kinds) in SITES.items():
                here = tuple(kind for kind in kinds if kind in on)
                times = weight * (HOTTER if site in hot else 1)
                if here:
                    self._tables[site] = (min(rate * times, HIGHEST_RATE), here)

    def calm(self) -> None:
        """Inject nothing from now on."""
        self._tables.clear()

    def pick(self, site: str, who: str, number: int, rng: Dice) -> Fault | None:
        """Return the fault that strikes the ``number``-th call of ``who``, mostly None."""
        if not self._tables:
            return None
        table = self._tables.get(site)
        if table is None or rng.random() >= table[0]:
            return None
        kind = table[1][int(rng.random() * len(table[1]))]
        if kind is Fault.PENDING_FOR_EVER and rng.random() > SHARE_FOR_EVER:
            kind = Fault.PENDING_THEN_DONE
        self._spent += 1
        if self._spent >= self.budget:
            self.calm()
        name = f"{who}#{number}"
        if name in self._dropped:
            return None
        self.injected.append((name, kind))
        return kind
