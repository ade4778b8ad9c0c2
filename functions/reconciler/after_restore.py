"""After a restore: which open runs may have sent a mail that the ledger has forgotten.

What a provider can be asked about is read again before it is written, so a restored ledger finds
it. A mail cannot be asked about: a run whose ledger says that it was not sent would send it again.
So a person decides about each of these runs, before anything may be sent.
"""

from collections.abc import Iterator, Mapping

from ledger.contract import LookUp, ProviderContract
from ledger.draft import Draft
from ledger.errors import InvariantBroken
from ledger.event import Actor
from ledger.gone import gone_contract
from ledger.instance import current_effect
from ledger.ports import Ports
from ledger.record import Record
from ledger.run import RunLedger
from ledger.store import LedgerStore
from ledger.transitions import EffectState
from ledger.update import update
from ledger.versions import Versions
from reconciler.drift import MAX_RUNS, open_run_ids

REASON = "the ledger was restored to an earlier time, and a mail may have gone out since"
COMMAND = Actor(kind="operator", actor_id="after-restore")
ANY_MAIL = "any mail of a version that is not known"


class DoubtfulRun(Record):
    """An open run that may have sent a mail since. Opaque ids only, nothing personal."""

    run_id: str
    workflow: str
    state: str
    mails: tuple[str, ...]
    """Names of the operations that may have been done."""

    is_told: bool
    """Whether it waits for a person with this reason already."""


class AfterRestore(Record):
    """All open runs that a person has to decide about."""

    runs: tuple[DoubtfulRun, ...]
    unreadable: tuple[str, ...]
    """Runs that could not be read, and of which nothing is known."""

    complete: bool
    """Whether every open run was looked at; there may be more of them than are read at most."""


class Restored:
    """A ledger that was restored, with what is known of its workflows and providers."""

    def __init__(
        self,
        versions: Versions,
        contracts: Mapping[str, ProviderContract],
        max_runs: int = MAX_RUNS,
    ) -> None:
        """Look at ``max_runs`` at most."""
        self._versions = versions
        self._contracts = contracts
        self._max_runs = max_runs

    def look(self, store: LedgerStore) -> AfterRestore:
        """Return what a person has to decide about. Raises LedgerUnavailable."""
        # All of them before the first is written: a write moves a run on in the index.
        run_ids = list(dict.fromkeys(open_run_ids(store)))
        unreadable: list[str] = []
        found = [self._read(store, run_id, unreadable) for run_id in run_ids[: self._max_runs]]
        return AfterRestore(
            runs=tuple(run for run in found if run is not None),
            unreadable=tuple(unreadable),
            complete=len(run_ids) <= self._max_runs,
        )

    def send_to_review(self, ports: Ports, run_id: str) -> None:
        """Let the run wait for a person. One that does so for this reason is left as it is.

        Raises LedgerMoved or LedgerUnavailable; repeating it is harmless.
        """

        def decide(draft: Draft) -> None:
            if draft.ledger.run.is_open and self._mails_left(draft.ledger):
                draft.send_to_review(REASON)

        update(ports, run_id, COMMAND, decide)

    def _read(self, store: LedgerStore, run_id: str, unreadable: list[str]) -> DoubtfulRun | None:
        try:
            ledger = store.load(run_id)
        except InvariantBroken:
            unreadable.append(run_id)
            return None
        if ledger is None or not ledger.run.is_open:
            return None
        run = ledger.run
        mails = self._mails_left(ledger)
        if not mails:
            return None
        return DoubtfulRun(
            run_id=run_id,
            workflow=run.workflow,
            state=run.state,
            mails=mails,
            is_told=REASON in (run.review_reason, *run.review_also),
        )

    def _mails_left(self, ledger: RunLedger) -> tuple[str, ...]:
        return tuple(sorted(set(self._left(ledger))))

    def _left(self, ledger: RunLedger) -> Iterator[str]:
        version = ledger.run.workflow
        way = self._versions.way_on(version)
        definition = self._versions.definition(version) or (way.new if way else None)
        if definition is None:
            yield ANY_MAIL
            return
        for operation in definition.own_operations:
            effect = current_effect(ledger, operation)
            done = effect is not None and effect.state is EffectState.CONFIRMED
            if not done and self._cannot_be_asked(operation.provider):
                yield operation.name
        for effect in ledger.unsettled_effects():
            if self._cannot_be_asked(effect.provider):
                yield effect.operation

    def _cannot_be_asked(self, provider: str) -> bool:
        contract = self._contracts.get(provider) or gone_contract(provider)
        return contract.look_up is LookUp.NONE
