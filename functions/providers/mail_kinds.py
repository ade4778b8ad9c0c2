"""Every kind of mail by the name of its provider. Pure data: this loads no vendor's library."""

from collections.abc import Mapping

from providers import ses_artifact_link, ses_mail
from providers.ses_kind import MailKind

MAIL_KINDS: Mapping[str, MailKind] = {
    kind.contract.provider: kind for kind in (ses_mail.KIND, ses_artifact_link.KIND)
}
