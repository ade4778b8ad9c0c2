"""Addresses of artifacts: signed for one object and one minute, and for nothing else."""

from collections.abc import Iterator
from unittest import mock
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from adapters.artifact_links import S3ArtifactLinks
from adapters.aws_clients import signing_client
from tests.ledger_table import FAKE_ACCOUNT

KEY = "artifacts/eff_q4x9"


@pytest.fixture(autouse=True)
def _account() -> Iterator[None]:
    with mock.patch.dict("os.environ", FAKE_ACCOUNT):
        yield


def test_an_address_is_signed_for_one_object_and_as_long_as_was_asked() -> None:
    address = urlsplit(S3ArtifactLinks(signing_client(), "our-bucket").url(KEY, 60))
    query = parse_qs(address.query)

    assert unquote(f"{address.netloc}{address.path}").count("our-bucket") == 1
    assert address.path.endswith(f"/{KEY}")
    assert query["X-Amz-Expires"] == ["60"]
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert query["X-Amz-SignedHeaders"] == ["host"]


def test_what_is_fetched_is_saved_and_never_shown_as_a_page() -> None:
    address = urlsplit(S3ArtifactLinks(signing_client(), "our-bucket").url(KEY, 60))

    (disposition,) = parse_qs(address.query)["response-content-disposition"]
    assert disposition.startswith("attachment;")


def test_another_lifetime_and_another_object_are_other_addresses() -> None:
    links = S3ArtifactLinks(signing_client(), "our-bucket")
    signatures = {
        parse_qs(urlsplit(links.url(key, seconds)).query)["X-Amz-Signature"][0]
        for key, seconds in ((KEY, 60), (KEY, 61), ("artifacts/eff_other", 60))
    }

    assert len(signatures) == 3


def test_making_one_asks_nobody() -> None:
    with mock.patch("botocore.httpsession.URLLib3Session.send") as sent:
        S3ArtifactLinks(signing_client(), "our-bucket").url(KEY, 60)

    sent.assert_not_called()
