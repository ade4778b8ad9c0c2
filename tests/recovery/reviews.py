"""Ways in which a run comes to a person."""

from ledger.transitions import EffectState
from tests.fakes.ses import MailFault
from tests.fakes.stripe import Fault
from tests.recovery.desk import renewal_is_off
from tests.recovery.scenario import HOUR_MS, REFUNDS, refund_is
from tests.recovery.world import World


def mail_in_doubt(world: World) -> None:
    """Take the run to a review about a mail that may have gone."""
    world.ses.fail_next(MailFault.ACCEPT_THEN_DROP)
    world.run()


def refund_refused(world: World) -> None:
    """Take the run to a review about a refund that was refused."""
    world.stripe.fail_next(Fault.UNAUTHORIZED, path_prefix=REFUNDS)
    world.run()


def refund_overdue(world: World) -> None:
    """Take the run to a review about a refund that nobody can be asked about."""
    world.stripe.fail_next(Fault.COMMIT_THEN_DROP, path_prefix=REFUNDS)
    world.run_until(refund_is(EffectState.UNKNOWN))
    world.outside.stripe_reachable = False
    world.run(until_ms=world.clock.now_ms() + HOUR_MS)


def charge_was_disputed(world: World) -> None:
    """Take the run to a review about a dispute that has ended since."""
    world.run_until(renewal_is_off)
    world.stripe.world.open_dispute("ch_1")
    world.run()
    world.stripe.world.charges["ch_1"].disputed = False
