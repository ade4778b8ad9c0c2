"""The mail service's own events, as EventBridge hands them to their function in one world."""

from typing import Any

from events.mail_event import MailEvent, handle_mail_event
from ledger.ports import Ports
from runtime.boundary import boundary
from tests.fakes.ses import SentMail
from tests.recovery.world import World


def mail_event(kind: str, mail: SentMail, **more: Any) -> dict[str, Any]:
    """Return an event about a mail, with all the addresses that SES puts into one."""
    return {
        "version": "0",
        "id": "12345678-1234-1234-1234-123456789012",
        "detail-type": kind,
        "source": "aws.ses",
        "account": "123456789012",
        "time": "2026-01-01T00:00:00Z",
        "region": "us-east-1",
        "resources": [],
        "detail": {
            "eventType": kind.removeprefix("Email "),
            "mail": {
                "timestamp": "2026-01-01T00:00:00.000Z",
                "source": "receipts@shop.example",
                "messageId": mail.message_id,
                "destination": [mail.to],
                "headers": [{"name": "To", "value": mail.to}],
                "commonHeaders": {"to": [mail.to], "subject": mail.subject},
                "tags": {
                    "ses:configuration-set": ["receipts"],
                    "ses:from-domain": ["shop.example"],
                    **{name: [value] for name, value in mail.tags.items()},
                },
            },
            **more,
        },
    }


def tell_of(world: World, kind: str, mail: SentMail, **more: Any) -> str:
    """Hand an event to its function; return what was done."""

    def handle(ports: Ports) -> str:
        with boundary("the mail service's event was not handled", stage="mail_event"):
            event = MailEvent.model_validate(mail_event(kind, mail, **more))
            return handle_mail_event(ports, event)

    return world.processes.run("mail event", handle)
