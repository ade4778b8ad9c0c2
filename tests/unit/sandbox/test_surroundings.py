"""Processes of the sandbox reach this machine and nothing else, and leave nothing in the home."""

from pathlib import Path

import pytest
from botocore.utils import get_environ_proxies, should_bypass_proxies

from sandbox.surroundings import child_environment, clean_environment, reach_this_machine_directly

PROXY = "http://proxy.invalid:3128"


@pytest.fixture(autouse=True)
def behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, PROXY)


@pytest.mark.parametrize("url", ["http://127.0.0.1:4566/", "http://localhost:4566/"])
def test_a_client_made_after_it_goes_past_the_proxy_to_this_machine_alone(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    assert not should_bypass_proxies(url)
    direct: dict[str, str] = {}
    reach_this_machine_directly(direct)
    for name, value in direct.items():
        monkeypatch.setenv(name, value)

    assert get_environ_proxies(url) == {}
    assert get_environ_proxies("http://elsewhere.example/")["http"] == PROXY


def test_exceptions_that_the_machine_has_stay_whichever_name_holds_them() -> None:
    environment = {"NO_PROXY": "intranet.example, 127.0.0.1", "no_proxy": "10.0.0.0/8"}

    reach_this_machine_directly(environment)

    hosts = ["10.0.0.0/8", "intranet.example", "127.0.0.1", "localhost"]
    assert environment["no_proxy"].split(",") == hosts
    assert environment["NO_PROXY"] == environment["no_proxy"]


def test_children_go_past_the_proxy_too() -> None:
    environment = clean_environment()

    assert environment["NO_PROXY"] == environment["no_proxy"] == "127.0.0.1,localhost"
    assert environment["HTTP_PROXY"] == PROXY


def test_children_get_no_real_credentials_and_no_settings_of_other_tools(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unwanted = ("AWS_PROFILE", "PYTHONDONTWRITEBYTECODE", "CDK_HOME", "FORCE_COLOR")
    for name in unwanted:
        monkeypatch.setenv(name, "1")

    assert not set(unwanted) & set(clean_environment())


def test_children_keep_their_files_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("TMPDIR", "/tmp/theirs")  # noqa: S108 - only a name
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/somebody/.config")

    environment = child_environment(tmp_path)

    for name in ("HOME", "TMPDIR"):
        assert Path(environment[name]).is_relative_to(tmp_path)
        assert Path(environment[name]).is_dir()
    assert "XDG_CONFIG_HOME" not in environment
