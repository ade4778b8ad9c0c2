"""The base of every stored record: frozen, strict, closed to unknown fields."""

from pydantic import BaseModel, ConfigDict

Scalar = str | int | bool
"""What evidence and bound fields are made of. No floats: money is integer minor units."""


class Record(BaseModel):
    """A value that is checked when made, when stored and when read back."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        # A validation error that quotes its input would carry it into logs.
        hide_input_in_errors=True,
    )


class StoredRecord(Record):
    """A record that outlives the code that wrote it.

    Functions are deployed one after another, and rolled back: a field that newer code has written
    is carried along unread and written back as it was, instead of stopping the run or being lost.
    """

    model_config = ConfigDict(extra="allow")
