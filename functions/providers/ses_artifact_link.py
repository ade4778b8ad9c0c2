"""The link to an artifact, operation ``deliver_link``: to a page of ours, until a time it tells.

The link opens nothing by itself. Whoever follows it signs in, and the page asks the API, which
checks anew whether the customer may have the artifact.
"""

from collections.abc import Callable, Mapping
from typing import Protocol, override

from ledger.contract import Need
from ledger.errors import InvariantBroken
from ledger.provider import Authority, CustomerDirectory, Intent
from ledger.record import Scalar
from ledger.validity import VALID_UNTIL, has_ended, moment_of, told_moment
from providers.ses_kind import Mailer, MailKind, SesKind, mail_contract
from providers.wording import Quote, Wording, verbatim

CONTRACT = mail_contract("ses_artifact_link", frozenset({Need.SITE}))
PAGE = "page"

_QUOTES = {
    "valid_until": Quote(
        (VALID_UNTIL,),
        r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{3})? UTC",
        lambda facts: told_moment(int(facts[VALID_UNTIL])),
        lambda shown: {VALID_UNTIL: moment_of(shown)},
    ),
    "page": Quote(
        (PAGE,),
        r"https?://[^\s/]+(?:/\S*)?/artifact/run_[a-z2-7]+",
        lambda facts: str(facts[PAGE]),
        lambda shown: {PAGE: shown},
    ),
    "artifact_id": verbatim("artifact_id"),
}
_REST = (
    "\n"
    "You can fetch it until {valid_until}:\n"
    "{page}\n"
    "\n"
    "The link asks you to sign in, and works for you only. After that time it opens nothing.\n"
    "\n"
    "Reference: {artifact_id}\n"
)

KIND = MailKind(
    CONTRACT,
    wordings=(
        Wording("Your file is ready", f"The file that you asked for is ready.\n{_REST}", _QUOTES),
        Wording(
            "The export of your project is ready",
            f"The export of your project {{project_id}} is ready.\n{_REST}",
            {**_QUOTES, "project_id": verbatim("project_id")},
        ),
    ),
    unbound=frozenset({PAGE}),
)


class ArtifactOwner(Protocol):
    """The provider that stored the artifact: it knows whose it is."""

    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        """Return whether the customer may have it now. Raises ProviderFault."""


class SesArtifactLink(SesKind):
    """Mails a link to the page on which an artifact is fetched."""

    def __init__(
        self,
        mailer: Mailer,
        directory: CustomerDirectory,
        owner: ArtifactOwner,
        site_url: str,
        now_ms: Callable[[], int],
    ) -> None:
        """Lead to the pages at ``site_url``; ``owner`` is asked before every mail."""
        super().__init__(KIND, mailer, directory)
        self._owner = owner
        self._site_url = site_url.rstrip("/")
        self._now_ms = now_ms

    @override
    def facts(self, intent: Intent) -> dict[str, Scalar]:
        page = f"{self._site_url}{_path_of(intent.run_id)}"
        return {**super().facts(intent), PAGE: page}

    @override
    def consequence(self, params: Mapping[str, object]) -> dict[str, Scalar]:
        """Return what the text tells of what is bound.

        Raises InvariantBroken for another text, and for one that leads to the page of another run.
        """
        match params:
            case {"tags": {"run_id": str() as run_id}}:
                page = str(self._kind.told(params)[PAGE])
            case _:
                raise InvariantBroken("This mail names no run.")
        if not page.endswith(_path_of(run_id)):
            raise InvariantBroken("This mail leads to the page of another run.")
        return super().consequence(params)

    @override
    def authority(self, bound: Mapping[str, Scalar], personal: Mapping[str, str]) -> Authority:
        """Return whether this customer may still be told, and may still have the artifact."""
        told = super().authority(bound, personal)
        if not told.allowed:
            return told
        owned = self._owner.authority(bound, personal)
        snapshot = {**owned.snapshot, **told.snapshot}
        if owned.allowed and has_ended(bound, self._now_ms()):
            reason = "the time until which the link would work has ended"
            return Authority(allowed=False, reason=reason, snapshot=snapshot)
        return Authority(allowed=owned.allowed, reason=owned.reason, snapshot=snapshot)


def _path_of(run_id: str) -> str:
    return f"/artifact/{run_id}"
