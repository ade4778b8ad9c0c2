"""Ids and keys: pinned, stable across processes, opaque, one for each intended write."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.idempotency import approval_id_for, effect_id_for, idempotency_key_for, run_id_for

FUNCTIONS = Path(__file__).parents[3] / "functions"
BOUND: dict[str, str | int | bool] = {"charge_id": "ch_1", "amount_minor": 7900, "currency": "USD"}
OPAQUE = re.compile(r"^(run|eff|apr|key)_[a-z2-7]{26}$")


def test_a_callers_key_leads_to_the_pinned_run() -> None:
    assert run_id_for("tenant-1", "agent-1", "request-1") == "run_ejfxjrxkgxbfi4z5pxlh762dsc"


def test_an_effect_of_a_run_has_the_pinned_id() -> None:
    assert effect_id_for("run_a", "refund", 1) == "eff_so2eavcu6hninzk3scwmp7jp73"


def test_an_approval_of_a_run_has_the_pinned_id() -> None:
    assert approval_id_for("run_a", 1) == "apr_itsm6ks3ucauuj3zzioivo77g2"


def test_an_effect_has_the_pinned_key() -> None:
    assert idempotency_key_for("run_a", "refund", BOUND, 1, 1) == "key_b3kwb32e33kvazqjgpjm3zbhyx"


@pytest.mark.parametrize("seed", ["0", "4242"])
def test_another_process_with_another_hash_seed_makes_the_same_key(seed: str) -> None:
    program = (
        "from ledger.idempotency import idempotency_key_for;"
        "values = {'charge_id': 'ch_1', 'amount_minor': 7900, 'currency': 'USD'};"
        "bound = {name: values[name] for name in set(values)};"
        "print(idempotency_key_for('run_a', 'refund', bound, 1, 1))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(FUNCTIONS)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout.strip() == idempotency_key_for("run_a", "refund", BOUND, 1, 1)


def test_two_honest_equal_refunds_have_different_keys() -> None:
    keys = {
        idempotency_key_for("run_a", "refund", BOUND, 1, 1),
        idempotency_key_for("run_b", "refund", BOUND, 1, 1),
        idempotency_key_for("run_a", "refund", BOUND, 2, 1),
        idempotency_key_for("run_a", "refund", BOUND, 1, 2),
        idempotency_key_for("run_a", "cancel", BOUND, 1, 1),
        idempotency_key_for("run_a", "refund", {**BOUND, "amount_minor": 79000}, 1, 1),
    }

    assert len(keys) == 6


def test_one_callers_key_of_two_tenants_or_two_callers_leads_to_different_runs() -> None:
    runs = {
        run_id_for("tenant-1", "agent-1", "request-1"),
        run_id_for("tenant-2", "agent-1", "request-1"),
        run_id_for("tenant-1", "agent-2", "request-1"),
        run_id_for("tenant-1", "agent-1", "request-2"),
        run_id_for("tenant-1", "agent-1request-1", ""),
    }

    assert len(runs) == 5


def test_nothing_personal_can_be_read_out_of_an_id_or_key() -> None:
    personal = "ada.lovelace@example.com"
    made = [
        run_id_for("tenant-1", personal, personal),
        effect_id_for(personal, "refund", 1),
        approval_id_for(personal, 1),
        idempotency_key_for(personal, "refund", {"customer": personal}, 1, 1),
    ]

    assert all(OPAQUE.match(found) for found in made)
