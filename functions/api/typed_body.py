"""Read a body as a typed record, and say what is wrong without repeating it."""

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ledger.errors import RequestRefused
from ledger.record import Record


def typed[T: Record](kind: type[T], body: object) -> T:
    """Return ``body`` as a ``kind``. Raises RequestRefused; nothing was started."""
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        raise RequestRefused("invalid-request", _what_is_wrong(error)) from None


def _what_is_wrong(error: ValidationError) -> str:
    """Return field names and rules; never the input, which may hold anything.

    Names of fields that we do not know are input too.
    """
    wrong = (
        f"{_where(found)}: {found['msg']}"
        for found in error.errors(include_url=False, include_context=False, include_input=False)
    )
    return "; ".join(wrong) + ". Nothing was started."


def _where(found: ErrorDetails) -> str:
    if found["type"] == "extra_forbidden":
        return "a field that is not known"
    return ".".join(str(part) for part in found["loc"]) or "request"
