"""What an effect says of itself before its first attempt and before its first proof."""

from tests.builders import NOW_MS, an_effect, evidence


def test_given_no_evidence_when_asked_then_every_field_of_the_proof_is_missing() -> None:
    effect = an_effect(proof_fields=("charge_id", "livemode"))

    assert effect.unproven_fields == ("charge_id", "livemode")
    assert effect.model_copy(update={"evidence": evidence()}).unproven_fields == ()


def test_given_no_attempt_when_asked_then_no_worker_is_inside_a_call() -> None:
    assert not an_effect().claim_is_live(NOW_MS)
