"""Situations of a link that works for a time only, reached over the real providers' fakes."""

from collections.abc import Callable, Mapping
from typing import cast

from ledger.transitions import RunState
from providers.s3_layout import owner_key
from tests.fakes.archive_bench import PROJECTS, owner_record
from tests.recovery.scenarios import scenarios
from tests.recovery.scenarios.project_export import ProjectExportOutside
from tests.recovery.tap import Strike
from tests.recovery.world import World

DAY_MS = 24 * 3_600_000
# An archive may be fetched for three days.
PAST_ITS_END_MS = 4 * DAY_MS


def exporting() -> World:
    """Return a world in which a customer has asked for a project's export."""
    return World(scenario=scenarios()["project-export@1"])


def link_works() -> World:
    """The link was mailed and works."""
    world = exporting()
    world.run()
    assert world.ledger.run.state is RunState.COMPLETED
    return world


def link_ended() -> World:
    """The link was mailed, and what it led to is not to be had any more."""
    world = link_works()
    world.clock.pass_ms(PAST_ITS_END_MS)
    return world


def link_in_doubt() -> World:
    """Whether the link was mailed is not known."""
    world = exporting()
    world.tap.strike_next("DeliverLink", "ses_artifact_link.call", Strike.CRASH_BEFORE)
    world.run_until(lambda ledger: ledger.run.state is RunState.REVIEW)
    return world


def link_in_doubt_ended() -> World:
    """The same, and what it leads to is not to be had any more."""
    world = link_in_doubt()
    world.clock.pass_ms(PAST_ITS_END_MS)
    return world


def archive_ended_undelivered() -> World:
    """The project changed hands before its link was mailed, and nobody acted until its end."""
    world = exporting()
    world.run_until(lambda ledger: ledger.proven("archive_stored") is not None)
    s3 = cast("ProjectExportOutside", world.outside).s3
    s3.put(PROJECTS, owner_key("prj_1"), owner_record("cus_2"))
    world.run_until(lambda ledger: ledger.run.state is RunState.REVIEW)
    world.clock.pass_ms(PAST_ITS_END_MS)
    return world


EXPORT_SITUATIONS: Mapping[str, Callable[[], World]] = {
    found.__name__: found
    for found in (
        link_works,
        link_ended,
        link_in_doubt,
        link_in_doubt_ended,
        archive_ended_undelivered,
    )
}
