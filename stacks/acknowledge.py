"""How a finding of the AWS Solutions rules is accepted: one finding, one place, one reason."""

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Accept ``rule`` (``IAM5[Resource::*]``) on ``construct`` and what is below it."""
    Validations.of(construct).acknowledge(Acknowledgment(id=f"AwsSolutions-{rule}", reason=reason))
