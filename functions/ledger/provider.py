"""What the engine asks of a provider's adapter. Adapters translate; they decide nothing."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from pydantic import Field

from ledger.contract import FaultKind, ProviderContract
from ledger.record import Record, Scalar, StoredRecord


class RecordStatus(StrEnum):
    """How far the provider has got with a record of ours."""

    DONE = "done"
    PENDING = "pending"  # includes a provider waiting for somebody else to act
    FAILED = "failed"  # the provider's last word: no effect, or the effect was undone


class Intent(Record):
    """One outside write, in our own terms, before it is put into the provider's."""

    run_id: str
    effect_id: str
    operation: str
    bound: dict[str, Scalar]
    """What a person approved, field by field; the record found later is compared with these."""


class ProviderCall(Record):
    """Everything an adapter may know when it calls, reads or checks."""

    run_id: str
    effect_id: str
    idempotency_key: str
    bound: dict[str, Scalar]
    params: dict[str, object]
    """Decoded from the frozen bytes: exactly what is sent."""

    personal: dict[str, str] = Field(default_factory=dict)
    """The contract's ``personal_fields``; never stored, logged or put into a key."""


class ProviderRecord(StoredRecord):
    """What a provider holds, cut to typed fields."""

    record_id: str
    status: RecordStatus
    provider_status: str
    mark: str | None
    """The effect id that the record carries; None when it was not made by us."""

    run_mark: str | None = None
    """The run id that the record carries; None where it carries none."""

    fields: dict[str, Scalar]


class Findings(Record):
    """The result of one look-up."""

    records: tuple[ProviderRecord, ...]
    complete: bool
    """Whether every page was read. An incomplete look-up proves no absence."""

    concerns: tuple[str, ...] = ()
    """What else a person should know of the target, in words of ours (``the charge is disputed``).
    It decides nothing about the effect."""


class Authority(Record):
    """Whether the owner of the target allows the write now, with what was read to say so."""

    allowed: bool
    reason: str
    snapshot: dict[str, Scalar]


class Contact(Record):
    """Personal fields of a customer, read from the system that owns them."""

    email: str
    name: str


class ProviderFault(Exception):
    """A call that returned no record. ``kind``, ``status`` and ``code`` are classified as data.

    Args:
        kind: what the adapter saw.
        status: the HTTP status, where one was read.
        code: the provider's own error code, where one was read.
    """

    def __init__(self, kind: FaultKind, status: int | None = None, code: str | None = None) -> None:
        """Keep typed facts only: a provider's message may quote personal data."""
        super().__init__(f"{kind} status={status} code={code}")
        self.kind = kind
        self.status = status
        self.code = code


class Provider(Protocol):
    """One kind of outside write at one provider."""

    @property
    def contract(self) -> ProviderContract:
        """Return the provider's contract."""

    def compose(self, intent: Intent) -> dict[str, object]:
        """Return the exact parameters to freeze for ``intent``, our mark included. Pure."""

    def consequence(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        """Return what ``params`` would do, in the names of bound fields. Pure."""

    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        """Return whether customer and target allow the write now. Raises ProviderFault."""

    def call(self, call: ProviderCall) -> ProviderRecord:
        """Make the write once, with its key and its bytes. Raises ProviderFault."""

    def look_up(self, call: ProviderCall) -> Findings:
        """Return what the provider holds at the effect's target. Raises ProviderFault."""


class CustomerDirectory(Protocol):
    """The system that owns customers' personal fields."""

    def contact(self, customer_id: str) -> Contact | None:
        """Return the customer's contact, None when there is none. Raises ProviderFault."""
