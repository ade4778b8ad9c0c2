"""Every wording that was ever released, as it was sent: each can be read for good."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from ledger.errors import InvariantBroken
from ledger.record import Scalar
from providers.contracts import CONTRACTS
from providers.mail_kinds import MAIL_KINDS
from providers.ses_events import MAIL_EVENTS, WORDS
from providers.ses_kind import MailKind


@dataclass(frozen=True)
class Released:
    """A mail as customers got it. Runs that are open hold its bytes, so nothing here is edited."""

    provider: str
    facts: Mapping[str, Scalar]
    subject: str
    text: str
    newest: bool = True
    """Whether it is what such facts are told in today."""

    @property
    def kind(self) -> MailKind:
        """Return the kind that has to read it."""
        return MAIL_KINDS[self.provider]

    @property
    def params(self) -> dict[str, object]:
        """Return it as it is frozen."""
        return {"subject": self.subject, "text": self.text, "tags": {}}


RELEASED = [
    Released(
        "ses_mail",
        {"refund_id": "re_1", "amount_minor": 7_900, "currency": "USD"},
        "Your refund of USD 79.00",
        "We have refunded USD 79.00 to the payment method you paid with.\n"
        "\n"
        "Refund reference: re_1\n"
        "\n"
        "Depending on your bank it can take 5 to 10 days until you see it on your statement.\n",
    ),
    Released(
        "ses_artifact_link",
        {
            "artifact_id": "art_1",
            "valid_until_ms": 1_767_225_600_000,
            "page": "https://pages.example/artifact/run_k2v7",
        },
        "Your file is ready",
        "The file that you asked for is ready.\n"
        "\n"
        "You can fetch it until 2026-01-01 00:00:00 UTC:\n"
        "https://pages.example/artifact/run_k2v7\n"
        "\n"
        "The link asks you to sign in, and works for you only. After that time it opens nothing.\n"
        "\n"
        "Reference: art_1\n",
    ),
    Released(
        "ses_artifact_link",
        {
            "project_id": "prj_1",
            "artifact_id": "art_1",
            "valid_until_ms": 1_767_225_600_007,
            "page": "http://localhost:4566/_api/artifact/run_k2v7",
        },
        "The export of your project is ready",
        "The export of your project prj_1 is ready.\n"
        "\n"
        "You can fetch it until 2026-01-01 00:00:00.007 UTC:\n"
        "http://localhost:4566/_api/artifact/run_k2v7\n"
        "\n"
        "The link asks you to sign in, and works for you only. After that time it opens nothing.\n"
        "\n"
        "Reference: art_1\n",
    ),
]
EACH = pytest.mark.parametrize("mail", RELEASED, ids=lambda mail: mail.subject)


@EACH
def test_what_a_released_text_says_is_read_back_out_of_it(mail: Released) -> None:
    assert mail.kind.told(mail.params) == mail.facts


@EACH
def test_the_newest_words_are_those_released_last(mail: Released) -> None:
    written = mail.kind.write({"customer_id": "cus_1", **mail.facts})

    assert (written == (mail.subject, mail.text)) is mail.newest


def test_no_wording_is_released_without_its_text_being_pinned_here() -> None:
    for provider, kind in MAIL_KINDS.items():
        pinned = [mail for mail in RELEASED if mail.provider == provider]
        read_by = [
            [wording.read(mail.subject, mail.text) is not None for mail in pinned]
            for wording in kind.wordings
        ]

        assert all(any(found) for found in read_by), provider


@EACH
@pytest.mark.parametrize("part", ["subject", "text"])
def test_words_of_nobody_are_not_read(mail: Released, part: str) -> None:
    changed = {**mail.params, part: f"{mail.params[part]}And one more line.\n"}

    with pytest.raises(InvariantBroken, match=mail.provider):
        mail.kind.told(changed)


@EACH
def test_a_kind_reads_no_mail_of_another(mail: Released) -> None:
    for provider, kind in MAIL_KINDS.items():
        if provider != mail.provider:
            with pytest.raises(InvariantBroken, match=provider):
                kind.told(mail.params)


@EACH
def test_a_bound_field_that_no_text_tells_is_never_sent(mail: Released) -> None:
    with pytest.raises(InvariantBroken, match="no words for"):
        mail.kind.write({"customer_id": "cus_1", **mail.facts, "another": "thing"})


@EACH
def test_a_bound_field_that_is_missing_is_never_made_up(mail: Released) -> None:
    for name in sorted(set(mail.facts) - {"project_id"}):  # without one it is another mail
        rest = {other: mail.facts[other] for other in mail.facts if other != name}
        with pytest.raises(InvariantBroken, match="no words for"):
            mail.kind.write({"customer_id": "cus_1", **rest})


def test_a_receipt_whose_subject_and_text_say_different_amounts_is_none() -> None:
    (receipt,) = (mail for mail in RELEASED if mail.provider == "ses_mail")
    changed = {**receipt.params, "subject": "Your refund of USD 790.00"}

    with pytest.raises(InvariantBroken):
        receipt.kind.told(changed)


def test_every_kind_goes_by_the_name_of_its_contract() -> None:
    for name, kind in MAIL_KINDS.items():
        assert kind.contract is CONTRACTS[name]


def test_each_event_is_known_by_one_name_and_says_one_thing() -> None:
    assert {name: word.provider_status for name, word in WORDS.items()} == {
        "Email Bounced": "bounced",
        "Email Complaint Received": "complained of",
        "Email Delivered": "delivered",
        "Email Rejected": "rejected",
        "Email Sent": "sent",
    }
    assert len({found.asked_for_as for found in MAIL_EVENTS}) == len(WORDS)
