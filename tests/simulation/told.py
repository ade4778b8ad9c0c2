"""What may follow from what the mail service tells: it is used, and used once."""

from typing import TYPE_CHECKING

from ledger.effect import ATTESTED, Effect
from ledger.provider import ProviderFault
from ledger.run import RunLedger
from ledger.transitions import EffectState
from tests.simulation.mail_news import MailNews
from tests.simulation.outside import Mail

if TYPE_CHECKING:
    from tests.simulation.check import Check
    from tests.simulation.process import Process

ENDED = frozenset({EffectState.CONFIRMED, EffectState.CONTRADICTED, EffectState.CONFLICT})
TAKEN_BACK = frozenset({EffectState.CONTRADICTED, EffectState.CONFLICT})


class Told:
    """What somebody of ours was told of mails: by the answer to a send, or by an event."""

    def __init__(self, check: "Check") -> None:
        """Start with nothing heard."""
        self._check = check
        self.mails: set[str] = set()
        """Ids of the mails that anybody of ours was ever told of."""

        self._used: set[tuple[str, MailNews]] = set()
        """What has taken a mail's proof back. Said again, it is no news."""

    def begins(self, mail: Mail) -> None:
        """Keep in mind that an event is heard now."""
        self.mails.add(mail.message_id)

    def was_used(self, mail: Mail, news: MailNews) -> None:
        """Check that an event that was taken shows in the ledger.

        A person may have decided, or another mail may have taken its place, since.
        """
        if not news.proves:
            return
        check = self._check
        ledger = check.world.store.load(mail.tags["run_id"])
        assert ledger is not None
        effect = ledger.require_effect(mail.mark)
        known = effect.state in ENDED
        check.require("told", f"{news.detail_type}, and it is {effect.state}", holds=known)
        if news.returned:
            kept = effect.state in TAKEN_BACK or _decided_since(ledger, effect)
            check.require("told", f"{news.detail_type} was overlooked", holds=kept)

    def check_taken_back(self, process: "Process", effect: Effect) -> None:
        """A mail's proof is taken back by its own service's word, said for the first time.

        The one other way: a worker knows that what a person took as sent was never handed over.
        """
        if process.told is None:
            never = isinstance(process.words.get(effect.effect_id), ProviderFault)
            attested = effect.effect_id in self._check.attested
            self._check.require("told", "nobody said so", holds=never and attested)
            return
        mail, news = process.told
        about = mail.mark == effect.effect_id
        self._check.require("told", "an event of another mail", holds=about)
        self._check.require("told", f"by {news.detail_type}", holds=news.returned)
        said = (mail.message_id, news)
        self._check.require("told", "by what was said before", holds=said not in self._used)
        self._used.add(said)


def _decided_since(ledger: RunLedger, effect: Effect) -> bool:
    newest = ledger.newest_effect(effect.operation)
    replaced = effect.superseded or (newest is not None and newest.instance > effect.instance)
    by_a_person = effect.evidence is not None and effect.evidence.record_id == ATTESTED
    return replaced or by_a_person
