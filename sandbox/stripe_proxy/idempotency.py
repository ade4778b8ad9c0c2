"""Idempotency keys as Stripe's v1 API treats them."""

import hashlib
from dataclasses import dataclass
from urllib.parse import parse_qsl

from sandbox.stripe_proxy.answers import Answer, error, invalid_request
from sandbox.stripe_proxy.clock import Clock

# Stripe may forget a key once it is this old; a reused key is then a new request.
KEY_LIFETIME_SECONDS = 24 * 60 * 60
KEY_MAX_CHARACTERS = 255
# Refused before the endpoint began, or while it could not begin: Stripe saves none of these.
_NEVER_SAVED = frozenset({400, 401, 404, 409, 429})


@dataclass
class _Use:
    fingerprint: str
    first_used_at: float
    saved: Answer | None = None


class KeyStore:
    """The first answer given under each key, for as long as the provider remembers it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._uses: dict[str, _Use] = {}

    def begin(self, key: str, fingerprint: str) -> Answer | None:
        """The answer to give instead of executing, or None: the key is now in flight."""
        if len(key) > KEY_MAX_CHARACTERS:
            return invalid_request(f"Idempotency keys hold at most {KEY_MAX_CHARACTERS} characters")
        self._prune()
        use = self._uses.get(key)
        if use is None:
            self._uses[key] = _Use(fingerprint, self._clock.now())
            return None
        if use.fingerprint != fingerprint:
            return _reused_differently(key)
        return use.saved or _in_use(key)

    def finish(self, key: str, answered: Answer) -> None:
        """Saves the answer, or frees the key where Stripe would save nothing."""
        if answered.status in _NEVER_SAVED and not _executed(answered):
            self.release(key)
        else:
            self._uses[key].saved = answered

    def release(self, key: str) -> None:
        """Frees a key under which nothing was executed."""
        self._uses.pop(key, None)

    def clear(self) -> None:
        self._uses.clear()

    def _prune(self) -> None:
        horizon = self._clock.now() - KEY_LIFETIME_SECONDS
        self._uses = {
            key: use
            for key, use in self._uses.items()
            if use.saved is None or use.first_used_at > horizon
        }


def fingerprint_of(method: str, path: str, body: str) -> str:
    """What must be equal for a key to be reused: the endpoint and its parameters, in any order."""
    parameters = sorted(parse_qsl(body, keep_blank_values=True))
    return hashlib.sha256(repr((method, path, parameters)).encode()).hexdigest()


def _executed(answered: Answer) -> bool:
    """Whether a refusal came from the endpoint's own work and not from checking its parameters."""
    return bool(answered.json().get("error", {}).get("code") == "charge_already_refunded")


def _reused_differently(key: str) -> Answer:
    return error(
        400,
        "idempotency_error",
        "Keys for idempotent requests can only be used with the same parameters and endpoint they "
        f"were first used with. Try using a key other than '{key}' if you meant to execute a "
        "different request.",
    )


def _in_use(key: str) -> Answer:
    return error(
        409,
        "invalid_request_error",
        "There is currently another in-progress request using this Idempotency Key (that probably "
        f"means you submitted twice, and the other request is still going through): {key}.",
        code="idempotency_key_in_use",
    )
