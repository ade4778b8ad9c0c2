"""Cut texts of a provider's to a length that can be kept.

A provider may answer with anything. A text of any length in a record would make the write that
settles its effect too large for the ledger, each time anew, and nobody would ever be told.
"""

from collections.abc import Mapping

from ledger.provider import ProviderRecord
from ledger.record import Scalar

# Twice the longest id that Stripe gives (255 characters, docs.stripe.com/upgrades), and so few that
# an effect with all its candidates stays far below the 400 KB of an item of DynamoDB.
MAX_TEXT_CHARACTERS = 510
_CUT = "…"


def short_text(text: str) -> str:
    """Return ``text``, cut visibly when it is longer than may be kept."""
    if len(text) <= MAX_TEXT_CHARACTERS:
        return text
    return text[: MAX_TEXT_CHARACTERS - len(_CUT)] + _CUT


def short_fields(fields: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return ``fields`` with every text among the values cut."""
    return {
        name: short_text(value) if isinstance(value, str) else value
        for name, value in fields.items()
    }


def _short_mark(mark: str | None) -> str | None:
    return None if mark is None else short_text(mark)


def short_record(record: ProviderRecord) -> ProviderRecord:
    """Return ``record`` with every text cut. A cut one equals nothing that was approved."""
    kept = {
        "record_id": short_text(record.record_id),
        "provider_status": short_text(record.provider_status),
        "mark": _short_mark(record.mark),
        "run_mark": _short_mark(record.run_mark),
        "fields": short_fields(record.fields),
    }
    return record.model_copy(update=kept) if _differs(record, kept) else record


def _differs(record: ProviderRecord, kept: Mapping[str, object]) -> bool:
    return any(getattr(record, name) != value for name, value in kept.items())
