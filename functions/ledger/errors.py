"""One error tree, split by what the caller can do.

::

    LedgerError
    ├── RetryLater            repeat the same call; nothing was begun
    │   ├── LedgerUnavailable     the store did not answer
    │   ├── LedgerMoved           somebody else changed the run first
    │   ├── EffectInProgress      another worker holds the claim
    │   ├── TooLittleTime         this invocation ends too soon to begin
    │   └── ProviderUnavailable   a read could not be made
    ├── ReconcileFirst        ask the provider before anything else
    │   ├── EffectUnknown         the outcome of a write is not known
    │   └── EffectPending         the provider has accepted but not finished
    ├── ApprovalNeeded        ask the customer
    ├── ReviewRequired        a person has to look
    ├── StaleExecution        a newer execution owns the run: stop quietly
    ├── RequestRefused        bad input; nothing was started (see ``problem``)
    └── InvariantBroken       a bug: stop before harm

State machines catch these by class name, so a name is part of a released contract.
"""


class LedgerError(Exception):
    """Root of everything the ledger raises on purpose."""


class RetryLater(LedgerError):
    """The same call may be repeated as it is."""


class LedgerUnavailable(RetryLater):
    """The store gave no answer; whether the write landed must be read before deciding."""


class LedgerMoved(RetryLater):
    """Another writer changed the run since it was read."""


class EffectInProgress(RetryLater):
    """Another worker holds a live claim on the effect."""


class TooLittleTime(RetryLater):
    """The invocation could end between the provider's answer and the ledger write."""


class ProviderUnavailable(RetryLater):
    """The owner of a record could not be read, so nothing could be checked or compared."""


class ReconcileFirst(LedgerError):
    """An effect is unsettled: read the provider, write nothing."""


class EffectUnknown(ReconcileFirst):
    """The provider's answer was lost. The write may or may not have happened."""


class EffectPending(ReconcileFirst):
    """The provider holds the record but has not finished it."""


class ApprovalNeeded(LedgerError):
    """No approval covers exactly what would be sent now."""


class ReviewRequired(LedgerError):
    """Going on by machine would be a guess. The run waits for a person."""


class StaleExecution(LedgerError):
    """A newer execution was given the run; this one must not act."""


class RequestRefused(LedgerError):
    """A caller's request that starts nothing. ``problem`` names the kind for clients."""

    def __init__(self, problem: str, detail: str) -> None:
        """Keep the kind (a stable slug) apart from the words."""
        super().__init__(detail)
        self.problem = problem
        self.detail = detail


class InvariantBroken(LedgerError):
    """Code tried what the transition table forbids."""
