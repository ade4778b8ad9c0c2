"""The receipt of a confirmed refund, operation ``receipt``."""

from collections.abc import Mapping

from ledger.money import Money
from ledger.provider import CustomerDirectory
from ledger.record import Scalar
from providers.ses_kind import Mailer, MailKind, SesKind, mail_contract
from providers.wording import Quote, Wording, verbatim

CONTRACT = mail_contract("ses_mail")


def _show_money(facts: Mapping[str, Scalar]) -> str:
    return str(Money(amount_minor=int(facts["amount_minor"]), currency=str(facts["currency"])))


def _read_money(shown: str) -> dict[str, Scalar]:
    currency, _, amount = shown.partition(" ")
    # Written with all of the currency's decimals, so the digits are the minor units.
    return {"amount_minor": int(amount.replace(".", "")), "currency": currency}


_MONEY = Quote(
    ("amount_minor", "currency"), r"[A-Z]{3} [0-9]+(?:\.[0-9]+)?", _show_money, _read_money
)

KIND = MailKind(
    CONTRACT,
    wordings=(
        Wording(
            "Your refund of {money}",
            "We have refunded {money} to the payment method you paid with.\n"
            "\n"
            "Refund reference: {refund_id}\n"
            "\n"
            "Depending on your bank it can take 5 to 10 days until you see it on your statement.\n",
            {"money": _MONEY, "refund_id": verbatim("refund_id")},
        ),
    ),
)


class SesMail(SesKind):
    """Mails the receipt of a confirmed refund."""

    def __init__(self, mailer: Mailer, directory: CustomerDirectory) -> None:
        """Send through ``mailer`` to the address that ``directory`` still holds."""
        super().__init__(KIND, mailer, directory)
