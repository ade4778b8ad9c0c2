"""A provider's API key from AWS Secrets Manager."""

import json
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from adapters.aws_faults import LOST_ANSWERS, as_ledger_error
from ledger.errors import InvariantBroken
from ledger.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

# A rotated key has to reach functions that stay warm for hours; one read in five minutes is cheap.
MAX_AGE_MS = 5 * 60 * 1000


class ApiKeySecret:
    """The ``api_key`` of a secret that holds ``{"api_key": "..."}``, kept for a bounded time."""

    def __init__(self, client: "SecretsManagerClient", secret_id: str, clock: Clock) -> None:
        """Read nothing yet."""
        self._client = client
        self._secret_id = secret_id
        self._clock = clock
        self._api_key = ""
        self._read_at_ms: int | None = None

    def api_key(self) -> str:
        """Return the key, at most five minutes old. Raises as ``refresh``."""
        if self._read_at_ms is None or self._clock.now_ms() - self._read_at_ms >= MAX_AGE_MS:
            return self.refresh()
        return self._api_key

    def refresh(self) -> str:
        """Return the key as it is now, for a provider that no longer knows the old one.

        Raises:
            RetryLater: there was no answer.
            InvariantBroken: the secret is missing, not readable, or has no ``api_key``.
        """
        try:
            answer = self._client.get_secret_value(SecretId=self._secret_id)
        except (ClientError, *LOST_ANSWERS) as error:
            raise as_ledger_error(error) from error
        self._api_key = _api_key(answer.get("SecretString", ""))
        self._read_at_ms = self._clock.now_ms()
        return self._api_key


def _api_key(text: str) -> str:
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    # Raised here, not in the except block: the decoding error carries the secret's text.
    key = document.get("api_key") if isinstance(document, dict) else None
    if not isinstance(key, str) or not key:
        raise InvariantBroken('The secret must be a JSON object with a text "api_key".')
    return key
