"""The state machine of every released version, as deployed."""

import re
from typing import Any

import pytest

from ledger.workflow import WorkflowDefinition
from providers.contracts import CONTRACTS
from tests.infrastructure.conftest import Synthesize
from tests.infrastructure.templates import Assembly, Template
from workflows.registry import REGISTRY

pytestmark = pytest.mark.parametrize("version", REGISTRY)


def template_of(assembly: Assembly, version: str) -> Template:
    """Return the stack of ``version``."""
    return assembly.template(f"recovery-ledger-{version.replace('@', '-v')}")


def machine_of(assembly: Assembly, version: str) -> dict[str, Any]:
    """Return the properties of the state machine of ``version``."""
    machine = template_of(assembly, version).only("AWS::StepFunctions::StateMachine")
    return dict(machine["Properties"])


def test_the_machine_is_standard_traced_and_found_by_its_name(
    assembly: Assembly, version: str
) -> None:
    machine = machine_of(assembly, version)

    assert machine["StateMachineName"] == f"recovery-ledger-{version.replace('@', '-v')}"
    assert machine["StateMachineType"] == "STANDARD"
    assert machine["TracingConfiguration"] == {"Enabled": True}


def test_the_machine_logs_failures_without_what_was_passed(
    assembly: Assembly, version: str
) -> None:
    logging = machine_of(assembly, version)["LoggingConfiguration"]

    assert logging["IncludeExecutionData"] is False
    assert logging["Level"] == "ERROR"


def test_every_placeholder_is_filled_with_a_function_of_the_version(
    assembly: Assembly, version: str
) -> None:
    machine = machine_of(assembly, version)
    used = set(re.findall(r"\$\{(\w+)\}", machine["DefinitionString"]))
    functions = template_of(assembly, version).resources("AWS::Lambda::Function")

    assert used == set(machine["DefinitionSubstitutions"])
    for name, value in machine["DefinitionSubstitutions"].items():
        assert value["Fn::GetAtt"][0] in functions, name
        handler = functions[value["Fn::GetAtt"][0]]["Properties"]["Handler"].split(".")[-2]
        assert name.removesuffix("FunctionArn").lower() == handler.replace("_", "")


def test_a_stage_has_the_time_that_its_data_says(assembly: Assembly, version: str) -> None:
    definition = REGISTRY[version]
    functions = template_of(assembly, version).functions()

    for stage in definition.stages:
        function = functions[f"{definition.slice_package}.{stage.name}.handler"]
        assert function["Properties"]["Timeout"] == stage.timeout_seconds


def test_a_function_outlives_one_call_to_each_of_its_providers(
    assembly: Assembly, version: str
) -> None:
    definition = REGISTRY[version]
    functions = template_of(assembly, version).functions()

    for stage in definition.stages:
        # A stage without a write makes no call of that length: it reads.
        called = stage.providers if stage.operation else ()
        slowest = max((CONTRACTS[name].call_timeout_seconds for name in called), default=0)
        function = functions[f"{definition.slice_package}.{stage.name}.handler"]
        assert function["Properties"]["Timeout"] > slowest


def test_a_machine_that_does_not_fit_its_version_stops_the_synth(
    synthesize: Synthesize, version: str
) -> None:
    definition = REGISTRY[version]
    forgotten = definition.stages[0].model_copy(update={"name": "forgotten_stage"})
    changed: WorkflowDefinition = definition.model_copy(
        update={"stages": (*definition.stages, forgotten)}
    )

    with pytest.raises(ValueError, match="there is no state ForgottenStage"):
        synthesize([changed])
