"""The mail with a link: where it leads, to whom it goes, and when it is not sent any more."""

from typing import Any

import pytest

from ledger.errors import InvariantBroken
from providers.ses_artifact_link import SesArtifactLink
from tests.fakes.benches import EFFECT_ID, EMAIL, RUN_ID
from tests.fakes.link_bench import LINK_LIFETIME_MS, SITE_URL, LinkWorld, link_world


@pytest.fixture
def world() -> LinkWorld:
    """Return a world in which the mail may be sent."""
    return link_world()


def test_the_mail_leads_to_the_page_of_its_run_and_says_until_when_it_works(
    world: LinkWorld,
) -> None:
    record = world.bench.provider.call(world.bench.frozen_call())

    (mail,) = world.ses.sent
    assert mail.message_id == record.record_id
    assert mail.to == EMAIL
    assert f"\n{SITE_URL}/artifact/{RUN_ID}\n" in mail.text
    assert "prj_1" in mail.text
    assert "UTC" in mail.text
    assert "sign in" in mail.text
    assert mail.tags == {"effect_id": EFFECT_ID, "run_id": RUN_ID}


def test_the_frozen_mail_holds_no_address_of_a_person(world: LinkWorld) -> None:
    assert EMAIL not in str(world.bench.frozen_call().params)


def test_the_site_is_frozen_with_the_mail_and_no_part_of_what_was_approved(
    world: LinkWorld,
) -> None:
    frozen = world.bench.frozen_call().params
    moved: Any = SesArtifactLink(
        None,  # type: ignore[arg-type]
        None,  # type: ignore[arg-type]
        world.owner,
        "https://moved.example/",
        world.clock.now_ms,
    )

    assert moved.consequence(frozen) == world.bench.provider.consequence(frozen)
    assert (
        f"\nhttps://moved.example/artifact/{RUN_ID}\n"
        in moved.compose(world.bench.intent())["text"]
    )


@pytest.mark.parametrize("tags", [{}, {"run_id": 7}, {"run_id": "run_other"}, "none"])
def test_a_mail_that_leads_elsewhere_than_its_tags_say_is_not_ours(
    world: LinkWorld, tags: object
) -> None:
    params = world.bench.frozen_call().params | {"tags": tags}

    with pytest.raises(InvariantBroken):
        world.bench.provider.consequence(params)


@pytest.mark.parametrize("site_url", ["pages.example", "javascript:x", "https://a b"])
def test_a_site_that_is_no_address_is_not_mailed(world: LinkWorld, site_url: str) -> None:
    provider: Any = SesArtifactLink(
        None,  # type: ignore[arg-type]
        None,  # type: ignore[arg-type]
        world.owner,
        site_url,
        world.clock.now_ms,
    )

    with pytest.raises(InvariantBroken):
        provider.consequence(provider.compose(world.bench.intent()))


def test_who_owns_the_project_no_more_is_sent_no_link(world: LinkWorld) -> None:
    world.owner.owner_id = "cus_2"

    authority = world.bench.provider.authority(world.bench.bound, world.bench.personal)

    assert not authority.allowed
    assert authority.reason == "the project is somebody else's now"
    assert authority.snapshot["owned"] is False
    assert authority.snapshot["address_unchanged"] is True


def test_a_changed_address_stops_the_link_too(world: LinkWorld) -> None:
    world.stripe.world.customers["cus_1"].email = "other@example.com"

    authority = world.bench.provider.authority(world.bench.bound, world.bench.personal)

    assert not authority.allowed
    assert "@" not in str(authority)


@pytest.mark.parametrize(("after_ms", "allowed"), [(-1, True), (0, False), (1, False)])
def test_a_link_that_would_open_nothing_any_more_is_not_sent(
    world: LinkWorld, after_ms: int, allowed: bool
) -> None:
    begun_ms = world.clock.now_ms()
    world.bench.bound["valid_until_ms"] = begun_ms + LINK_LIFETIME_MS
    world.clock.pass_ms(LINK_LIFETIME_MS + after_ms)

    authority = world.bench.provider.authority(world.bench.bound, world.bench.personal)

    assert authority.allowed is allowed
    assert ("has ended" in authority.reason) is not allowed
