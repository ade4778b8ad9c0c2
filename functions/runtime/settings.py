"""The environment of a function, checked once at its first use."""

import os
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

NonEmpty = Annotated[str, Field(min_length=1)]


class Settings(BaseModel):
    """Environment variables by name. A function is given only those that it needs."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    ledger_table: NonEmpty = Field(alias="LEDGER_TABLE")
    state_machine_arn_prefix: NonEmpty | None = Field(
        default=None, alias="STATE_MACHINE_ARN_PREFIX"
    )
    stripe_secret_id: NonEmpty | None = Field(default=None, alias="STRIPE_SECRET_ID")
    stripe_api_base: NonEmpty = Field(default="https://api.stripe.com", alias="STRIPE_API_BASE")
    mail_from: NonEmpty | None = Field(default=None, alias="MAIL_FROM")
    mail_configuration_set: NonEmpty | None = Field(default=None, alias="MAIL_CONFIGURATION_SET")
    artifacts_bucket: NonEmpty | None = Field(default=None, alias="ARTIFACTS_BUCKET")
    projects_bucket: NonEmpty | None = Field(default=None, alias="PROJECTS_BUCKET")
    nominations_queue_url: NonEmpty | None = Field(default=None, alias="NOMINATIONS_QUEUE_URL")
    site_url: NonEmpty | None = Field(default=None, alias="SITE_URL")
    workflow_slice: NonEmpty | None = Field(default=None, alias="WORKFLOW_SLICE")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Return the settings. Raises pydantic.ValidationError naming what is missing."""
        return cls.model_validate(dict(environment))
