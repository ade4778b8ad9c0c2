"""Receipts by mail through SES v2, operation ``receipt``.

``SendEmail`` takes no idempotency token and nothing asks SES "was this sent?" without the message
id that a lost answer would have brought. So a lost answer is settled by a tagged event or by a
person, and a mail that may have gone is never sent again by machine.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol, override

from ledger.contract import (
    Consistency,
    ErrorClass,
    ErrorRule,
    FaultKind,
    LookUp,
    Need,
    ProviderContract,
)
from ledger.errors import InvariantBroken
from ledger.money import Money
from ledger.provider import (
    Authority,
    CustomerDirectory,
    Findings,
    Intent,
    Provider,
    ProviderCall,
    ProviderRecord,
    RecordStatus,
)
from ledger.record import Scalar

# Ours, 3 s to connect and 7 s to read; SES answers in well under a second.
CALL_TIMEOUT_SECONDS = 10

# SES v2 API model, operation SendEmail: each of these is documented as "the message can't be sent"
# or as invalid input. They come with status 400; an event of theirs says so by name.
_REFUSALS = (
    "AccountSuspendedException",
    "BadRequestException",
    "MailFromDomainNotVerifiedException",
    "MessageRejected",
    "SendingPausedException",
)

CONTRACT = ProviderContract(
    provider="ses_mail",
    # The second because the address is checked against the customer directory before sending.
    needs=frozenset({Need.SEND_MAIL, Need.STRIPE_SECRET}),
    personal_fields=("email",),
    call_timeout_seconds=CALL_TIMEOUT_SECONDS,
    key_lifetime_seconds=None,  # SES v2 API model: SendEmailRequest has no token member
    look_up=LookUp.NONE,  # GetMessageInsights needs the message id
    look_up_consistency=Consistency.EVENTUAL,  # events are published some time after the send
    # Ours: three times the call timeout, as a send given up on may still be accepted.
    settle_window_seconds=30,
    absence_reads=0,  # the silence of an event feed proves nothing
    replay_after_absence=False,
    confirmed_by_read=False,  # acceptance is the last thing SES says by itself
    # Ours. Send events arrive in seconds, at busy times in minutes; a receipt can wait that long,
    # a person who is asked too early would send it twice.
    recovery_deadline_seconds=15 * 60,
    # Ours. Only attempts that never reached SES repeat; five of those is an outage.
    max_attempts=5,
    errors=(
        ErrorRule(error_class=ErrorClass.NOT_REACHED, kind=FaultKind.NEVER_SENT),
        # Throttled, or a limit of the account: turned away before anything was accepted.
        ErrorRule(error_class=ErrorClass.NOT_REACHED, kind=FaultKind.ANSWERED, status=429),
        *(
            ErrorRule(error_class=ErrorClass.NOT_REACHED, kind=FaultKind.ANSWERED, code=code)
            for code in ("LimitExceededException", "ThrottlingException")
        ),
        *(
            ErrorRule(error_class=ErrorClass.REFUSED, kind=FaultKind.ANSWERED, code=code)
            for code in _REFUSALS
        ),
        # Invalid, unsigned, not paid for, forbidden, no such resource: all decided before a send.
        *(
            ErrorRule(error_class=ErrorClass.REFUSED, kind=FaultKind.ANSWERED, status=status)
            for status in (400, 401, 402, 403, 404)
        ),
    ),
)

_SUBJECT = "Your refund of {money}"
_TEXT = (
    "We have refunded {money} to the payment method you paid with.\n"
    "\n"
    "Refund reference: {refund_id}\n"
    "\n"
    "Depending on your bank it can take 5 to 10 days until you see it on your statement.\n"
)
_QUOTED = re.compile(
    r"We have refunded (?P<currency>[A-Z]{3}) (?P<amount>[0-9]+(?:\.[0-9]+)?) to .*?"
    r"^Refund reference: (?P<refund_id>\S+)$",
    re.DOTALL | re.MULTILINE,
)


class Mailer(Protocol):
    """Hands one text mail to the mail service."""

    def send(self, to: str, subject: str, text: str, tags: Mapping[str, str]) -> str:
        """Return the service's message id. Raises ProviderFault."""


class MailWord(NamedTuple):
    """What SES says of a mail: in our terms, and in a word of its own."""

    status: RecordStatus
    provider_status: str


def mail_record(
    message_id: str,
    word: MailWord,
    mark: str | None,
    bound: Mapping[str, Scalar],
    params: Mapping[str, object],
) -> ProviderRecord:
    """Return what SES holds of a mail: it knows the id, the fields are those of what was sent.

    Raises InvariantBroken when ``params`` are no receipt.
    """
    return ProviderRecord(
        record_id=message_id,
        status=word.status,
        provider_status=word.provider_status,
        mark=mark,
        fields={"customer_id": bound["customer_id"], **_quoted(params)},
    )


class SesMail(Provider):
    """Mails the receipt of a confirmed refund."""

    def __init__(self, mailer: Mailer, directory: CustomerDirectory) -> None:
        """Send through ``mailer`` to the address that ``directory`` still holds."""
        self._mailer = mailer
        self._directory = directory

    @property
    @override
    def contract(self) -> ProviderContract:
        return CONTRACT

    @override
    def compose(self, intent: Intent) -> dict[str, object]:
        """Return subject, text and tags. No personal data: these are frozen and stored."""
        quoted = {
            "money": Money(
                amount_minor=int(intent.bound["amount_minor"]),
                currency=str(intent.bound["currency"]),
            ),
            "refund_id": intent.bound["refund_id"],
        }
        return {
            "subject": _SUBJECT.format_map(quoted),
            "text": _TEXT.format_map(quoted),
            "tags": {"effect_id": intent.effect_id, "run_id": intent.run_id},
        }

    @override
    def consequence(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        """Return what the text itself quotes, read back out of it."""
        return _quoted(params)

    @override
    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        customer_id = str(bound["customer_id"])
        contact = self._directory.contact(customer_id)
        unchanged = contact is not None and contact.email == personal["email"]
        if contact is None:
            reason = "the customer no longer exists or has no address"
        elif not unchanged:
            reason = "the customer's address is no longer the one recorded for this run"
        else:
            reason = "the customer still has the address recorded for this run"
        return Authority(
            allowed=unchanged,
            reason=reason,
            snapshot={
                "customer_id": customer_id,
                "found": contact is not None,
                "address_unchanged": unchanged,
            },
        )

    @override
    def call(self, call: ProviderCall) -> ProviderRecord:
        """Return the accepted mail."""
        match call.params:
            case {"subject": str() as subject, "text": str() as text, "tags": dict() as tags}:
                named = {str(name): str(value) for name, value in tags.items()}
            case _:
                raise InvariantBroken("These parameters are no mail.")
        message_id = self._mailer.send(call.personal["email"], subject, text, named)
        mark = named.get("effect_id")
        word = MailWord(status=RecordStatus.DONE, provider_status="accepted")
        return mail_record(message_id, word, mark, call.bound, call.params)

    @override
    def look_up(self, call: ProviderCall) -> Findings:
        """Return nothing, and say that nothing could be asked."""
        return Findings(records=(), complete=False)


def _quoted(params: Mapping[str, object]) -> dict[str, Scalar]:
    found = _QUOTED.search(str(params.get("text")))
    if found is None:
        raise InvariantBroken("This text quotes no refund.")
    return {
        "refund_id": found["refund_id"],
        # Written with all of the currency's decimals, so the digits are the minor units.
        "amount_minor": int(found["amount"].replace(".", "")),
        "currency": found["currency"],
    }
