"""Where everything is, for people and programs: `outputs.json`."""

from pydantic import BaseModel, ConfigDict

from sandbox.workspace import STATE

OUTPUTS_FILE = STATE / "outputs.json"


class Outputs(BaseModel):
    """Addresses, ids and sign-in tokens of one running sandbox."""

    model_config = ConfigDict(frozen=True)

    api_url: str
    """Send requests here, with the header `Host: <api_host_header>`."""
    api_host_header: str
    console_url: str
    """The recovery console, for a browser on this machine: browsers know the name by themselves."""

    sign_in_names: dict[str, str]
    """What the sample users sign in with on the pages, by user: agent, customer, operator."""

    sign_in_password: str
    """That of every sample user; it opens nothing but a sandbox."""

    aws_endpoint: str
    aws_region: str
    stripe_url: str
    stripe_control_url: str
    stripe_behind_url: str
    mail_url: str
    customer_id: str
    subscription_id: str
    charge_id: str
    charge_amount_minor: int
    currency: str
    project_id: str
    """The sample customer's project, in `projects_bucket`."""

    projects_bucket: str
    artifacts_bucket: str
    ledger_table: str
    alarm_topic_arn: str
    """Subscribe here to be told of alarms."""

    state_machine_arns: dict[str, str]
    user_pool_id: str
    user_pool_client_id: str
    tokens: dict[str, str]
    """Id tokens by user: agent, customer, operator."""
