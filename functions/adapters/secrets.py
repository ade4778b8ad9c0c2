"""A provider's API key and signing secret from AWS Secrets Manager."""

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
    """A secret that holds ``{"api_key": "…", "signing_secret": "…"}``, kept for a bounded time.

    The second signs the provider's notices. Only the function that takes notices needs it.
    """

    def __init__(self, client: "SecretsManagerClient", secret_id: str, clock: Clock) -> None:
        """Read nothing yet."""
        self._client = client
        self._secret_id = secret_id
        self._clock = clock
        self._api_key = ""
        self._signing_secret = ""
        self._read_at_ms: int | None = None

    def api_key(self) -> str:
        """Return the key, at most five minutes old. Raises as ``refresh``."""
        self._keep_fresh()
        return self._api_key

    def signing_secret(self) -> str:
        """Return the signing secret, at most five minutes old.

        Not read anew for a signature that does not fit: anybody could then make us read it all day.
        Raises as ``refresh``, and InvariantBroken when none was set.
        """
        self._keep_fresh()
        if not self._signing_secret:
            raise InvariantBroken('The secret has no "signing_secret"; no notice can be checked.')
        return self._signing_secret

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
        members = _members(answer.get("SecretString", ""))
        if not members.get("api_key"):
            raise InvariantBroken('The secret must be a JSON object with a text "api_key".')
        self._api_key = members["api_key"]
        self._signing_secret = members.get("signing_secret", "")
        self._read_at_ms = self._clock.now_ms()
        return self._api_key

    def _keep_fresh(self) -> None:
        if self._read_at_ms is None or self._clock.now_ms() - self._read_at_ms >= MAX_AGE_MS:
            self.refresh()


def _members(text: str) -> dict[str, str]:
    """Return the text members. Raises nothing: a decoding error would carry the secret's text."""
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(document, dict):
        return {}
    return {name: value for name, value in document.items() if isinstance(value, str)}
