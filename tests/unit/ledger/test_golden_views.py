"""What customer, operator and model are shown is pinned in every situation, as files to review."""

import pytest

from ledger.offer import RecoveryAction
from ledger.transitions import EffectState
from providers.contracts import CONTRACTS
from tests.unit.ledger.export_situations import EXPORT_SITUATIONS
from tests.unit.ledger.golden_views import FOLDER, golden, kept, views
from tests.unit.ledger.situations import SITUATIONS
from tests.unit.ledger.version_situations import VERSION_SITUATIONS
from workflows.migrations import VERSIONS
from workflows.registry import definition_for

OF_THE_SAMPLE = {**SITUATIONS, **VERSION_SITUATIONS}
ALL = (*OF_THE_SAMPLE, *EXPORT_SITUATIONS)


def shown_in(name: str) -> dict[str, object]:
    """Return what the three readers are shown in a situation."""
    if name in EXPORT_SITUATIONS:
        real = EXPORT_SITUATIONS[name]()
        definition, now_ms = definition_for(real.ledger), real.clock.now_ms()
        return views(definition, real.ledger, CONTRACTS.__getitem__, now_ms, VERSIONS)
    world = OF_THE_SAMPLE[name]()
    return views(
        world.definition,
        world.ledger,
        lambda provider: world.ports.providers[provider].contract,
        world.clock.now_ms(),
        world.versions,
    )


@pytest.mark.parametrize("name", ALL)
def test_what_the_three_readers_are_shown_is_pinned(name: str) -> None:
    shown = shown_in(name)

    assert shown == kept(name, shown)


def test_every_golden_view_belongs_to_a_situation() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(ALL)
    assert len(ALL) == len(set(ALL))


def test_every_action_is_pinned_allowed_and_refused() -> None:
    pinned = [found for name in ALL for found in golden(name)["operator"]["offers"]]

    for action in RecoveryAction:
        allowed = {found["allowed"] for found in pinned if found["action"] == action}
        assert allowed == {True, False}, action


@pytest.mark.parametrize("name", ALL)
def test_the_three_readers_are_told_the_same(name: str) -> None:
    view = golden(name)
    customer, facts, packet = view["customer"], view["operator"]["facts"], view["packet"]
    counting = [found for found in facts["effects"] if not found["over"]]

    assert customer["status"] == facts["state"] == packet["state"]
    assert customer["proven"] == facts["claims"]
    assert packet["view_version"] == facts["view_version"]
    for effect, shown, fact in zip(counting, customer["effects"], packet["effects"], strict=True):
        stands = (
            effect["state"] == EffectState.CONFIRMED
            and not effect["attested"]
            and not effect["undone"]
            and not effect["may_be_undone"]
        )
        assert effect["operation"] == shown["operation"] == fact["operation"]
        assert (shown["status"].partition(";")[0] == "confirmed") == stands
        assert (effect["undone"], effect["may_be_undone"]) == (
            fact["undone"],
            fact["may_be_undone"],
        )
        if not stands:
            assert shown["fields"] == effect["proven_fields"] or effect["attested"]
            assert f"{effect['record_id']} is confirmed" not in packet["summary"]
        else:
            assert shown["fields"] == fact["fields"] == effect["proven_fields"]
            assert f"{effect['record_id']}" in packet["summary"]
