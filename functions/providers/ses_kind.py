"""What every kind of mail through SES v2 has in common. A kind is its words and its contract.

``SendEmail`` takes no idempotency token and nothing asks SES "was this sent?" without the message
id that a lost answer would have brought. So a lost answer is settled by a tagged event or by a
person, and a mail that may have gone is never sent again by machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, override

from ledger.contract import (
    Consistency,
    ErrorClass,
    ErrorRule,
    FaultKind,
    Listing,
    LookUp,
    Need,
    ProviderContract,
)
from ledger.errors import InvariantBroken
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
from providers.ses_events import MailWord
from providers.wording import Wording

# Ours, 3 s to connect and 7 s to read; SES answers in well under a second.
CALL_TIMEOUT_SECONDS = 10
# To whom a mail goes is bound and stands in no text: the address is read at the moment of sending.
RECIPIENT = "customer_id"

# SES v2 API model, operation SendEmail: each of these is documented as "the message can't be sent"
# or as invalid input. They come with status 400; an event of theirs says so by name.
_REFUSALS = (
    "AccountSuspendedException",
    "BadRequestException",
    "MailFromDomainNotVerifiedException",
    "MessageRejected",
    "SendingPausedException",
)


def mail_contract(provider: str, needs: frozenset[Need] = frozenset()) -> ProviderContract:
    """Return the contract of a kind of mail; ``needs`` are those that it has besides."""
    return ProviderContract(
        provider=provider,
        # The second because the address is checked against the customer directory before sending.
        needs=needs | {Need.SEND_MAIL, Need.STRIPE_SECRET},
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
        # Ours. Send events arrive in seconds, at busy times in minutes; a mail can wait that long,
        # a person who is asked too early would send it twice.
        recovery_deadline_seconds=15 * 60,
        recent_records=Listing.NONE,  # SES lists no mail that it has sent
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
            # Invalid, unsigned, not paid for, forbidden, no such resource: decided before a send.
            *(
                ErrorRule(error_class=ErrorClass.REFUSED, kind=FaultKind.ANSWERED, status=status)
                for status in (400, 401, 402, 403, 404)
            ),
        ),
    )


class Mailer(Protocol):
    """Hands one text mail to the mail service."""

    def send(self, to: str, subject: str, text: str, tags: Mapping[str, str]) -> str:
        """Return the service's message id. Raises ProviderFault."""


@dataclass(frozen=True)
class MailKind:
    """One kind of mail as data."""

    contract: ProviderContract
    wordings: tuple[Wording, ...]
    """Every wording that was ever released, newest last. A released one is never edited: texts of
    it may be frozen in runs that are still open."""

    unbound: frozenset[str] = frozenset()
    """Facts that a text tells and that nobody approves, such as where a page of ours is."""

    def write(self, facts: Mapping[str, Scalar]) -> tuple[str, str]:
        """Return subject and text in the newest words that tell exactly ``facts``.

        Raises InvariantBroken when there are none: a bound field that no text tells would be
        approved and never said.
        """
        told = frozenset(facts) - {RECIPIENT}
        for wording in reversed(self.wordings):
            if wording.names == told:
                return wording.write(facts)
        raise InvariantBroken(f"{self.contract.provider} has no words for {sorted(told)}.")

    def told(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        """Return every fact that a frozen mail tells. Raises InvariantBroken for another text."""
        subject, text = str(params.get("subject")), str(params.get("text"))
        for wording in reversed(self.wordings):
            facts = wording.read(subject, text)
            if facts is not None:
                return facts
        raise InvariantBroken(f"This text is no mail of {self.contract.provider}.")

    def consequence(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        """Return what a frozen mail tells of what is bound. Raises as ``told``."""
        told = self.told(params)
        return {name: fact for name, fact in told.items() if name not in self.unbound}

    def record(
        self,
        message_id: str,
        word: MailWord,
        mark: str | None,
        bound: Mapping[str, Scalar],
        params: Mapping[str, object],
    ) -> ProviderRecord:
        """Return what SES holds of a mail: it knows the id, the fields are those of what was sent.

        Raises as ``told``.
        """
        return ProviderRecord(
            record_id=message_id,
            status=word.status,
            provider_status=word.provider_status,
            mark=mark,
            fields={RECIPIENT: bound[RECIPIENT], **self.consequence(params)},
        )


class SesKind(Provider):
    """Sends the mails of one kind."""

    def __init__(self, kind: MailKind, mailer: Mailer, directory: CustomerDirectory) -> None:
        """Send through ``mailer`` to the address that ``directory`` still holds."""
        self._kind = kind
        self._mailer = mailer
        self._directory = directory

    @property
    @override
    def contract(self) -> ProviderContract:
        return self._kind.contract

    @override
    def compose(self, intent: Intent) -> dict[str, object]:
        """Return subject, text and tags. No personal data: these are frozen and stored."""
        subject, text = self._kind.write(self.facts(intent))
        return {
            "subject": subject,
            "text": text,
            "tags": {"effect_id": intent.effect_id, "run_id": intent.run_id},
        }

    def facts(self, intent: Intent) -> dict[str, Scalar]:
        """Return what the mail has to tell: what is bound, and what a kind adds to it."""
        return dict(intent.bound)

    @override
    def consequence(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        """Return what the text itself tells, read back out of it."""
        return self._kind.consequence(params)

    @override
    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        customer_id = str(bound[RECIPIENT])
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
        return self._kind.record(message_id, word, mark, call.bound, call.params)

    @override
    def look_up(self, call: ProviderCall) -> Findings:
        """Return nothing, and say that nothing could be asked."""
        return Findings(records=(), complete=False)
