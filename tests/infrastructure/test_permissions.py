"""Each function may do what its stage needs, and its neighbours' work is closed to it."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import pytest

from ledger.contract import Need
from ledger.workflow import Stage, WorkflowDefinition
from providers.contracts import CONTRACTS
from tests.infrastructure.templates import Assembly, Template, actions, arns
from workflows.registry import REGISTRY

READ_RUN = {"dynamodb:GetItem", "dynamodb:Query"}
CHANGE_RUN = READ_RUN | {"dynamodb:PutItem"}
MAIL = {"ses:SendEmail"}
STRIPE = {"secretsmanager:GetSecretValue"}
DOORBELL = {"states:SendTaskSuccess"}
START = {"states:DescribeExecution", "states:StartExecution"}
SEE_ARTIFACTS = {"s3:GetBucketPublicAccessBlock", "s3:GetObject", "s3:ListBucket"}
# What the library grants on the queue of events that could not be handled.
KEEP_EVENT = {"sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"}
# What Lambda needs to hand a queue over (Lambda, "Using Lambda with Amazon SQS").
TAKE_RUNS = {"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}

# What a provider's contract asks for, to read what the provider holds and to write.
READING: Mapping[Need, set[str]] = {
    Need.READ_ARTIFACTS: SEE_ARTIFACTS,
    Need.SEND_MAIL: set(),
    Need.SITE: set(),
    Need.STORE_ARTIFACTS: set(),
    Need.STRIPE_SECRET: STRIPE,
}
WRITING: Mapping[Need, set[str]] = {
    **READING,
    Need.SEND_MAIL: MAIL,
    Need.STORE_ARTIFACTS: {"s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject"},
}


def asked_for(providers: Iterable[str], meaning: Mapping[Need, set[str]]) -> set[str]:
    """Return the actions that the contracts of ``providers`` ask for."""
    needs = {need for name in providers for need in CONTRACTS[name].needs}
    return set().union(*(meaning[need] for need in needs))


READ_PROVIDERS = asked_for(CONTRACTS, READING)
DOORS = {
    "events.mail_event.handler": CHANGE_RUN | START | KEEP_EVENT,
    "events.stripe_notice.handler": CHANGE_RUN | READ_PROVIDERS | START,
    "reconciler.execution_status.handler": CHANGE_RUN | START | KEEP_EVENT,
    "reconciler.audit.handler": READ_RUN | STRIPE,
    "reconciler.census.handler": READ_RUN,
    "reconciler.reconcile_worker.handler": CHANGE_RUN
    | READ_PROVIDERS
    | START
    | DOORBELL
    | TAKE_RUNS,
    "reconciler.sweeper.handler": {"dynamodb:Query", "sqs:SendMessage"},
    "api.start_run.handler": CHANGE_RUN | READ_PROVIDERS | START,
    "api.get_run.handler": READ_RUN,
    "api.get_artifact.handler": READ_RUN | SEE_ARTIFACTS,
    "api.decide_approval.handler": CHANGE_RUN | DOORBELL,
    "api.operator_view.handler": READ_RUN,
    "api.act_on_run.handler": CHANGE_RUN | READ_PROVIDERS | START,
    "api.resume_packet.handler": READ_RUN,
    "api.list_reviews.handler": READ_RUN,
    "api.customer_words.handler": READ_RUN,
    "console.serve_page.handler": set(),
}


def stack_of(definition: WorkflowDefinition) -> str:
    """Return the name of a version's stack."""
    return f"recovery-ledger-{definition.version.replace('@', '-v')}"


def stage_actions(definition: WorkflowDefinition, stage: Stage) -> set[str]:
    """Return what a stage has to be allowed: its providers, and what its write rests on."""
    return (
        CHANGE_RUN
        | asked_for(stage.providers, WRITING if stage.operation else READING)
        | asked_for(definition.read_again_in(stage), READING)
        | (DOORBELL if stage.rings_doorbell else set())
    )


def version_actions(definition: WorkflowDefinition) -> dict[str, set[str]]:
    """Return what the functions of a version have to be allowed, by handler."""
    providers = [name for stage in definition.stages for name in stage.providers]
    return {
        "workflows.resume.handler": CHANGE_RUN,
        "workflows.reconcile.handler": CHANGE_RUN | asked_for(providers, READING),
        **{
            f"{definition.slice_package}.{stage.name}.handler": stage_actions(definition, stage)
            for stage in definition.stages
        },
    }


OF_VERSIONS = [
    pytest.param(stack_of(definition), handler, expected, id=f"{version} {handler}")
    for version, definition in REGISTRY.items()
    for handler, expected in version_actions(definition).items()
]


def allowed(template: Template, handler: str) -> set[str]:
    """Return the actions that a function is allowed beyond its own log."""
    statements = template.function_statements(handler)
    return set().union(*(actions(found) for found in statements))


def door(assembly: Assembly, handler: str) -> Template:
    """Return the stack with the one function that has ``handler``."""
    (found,) = (template for template, name, _ in assembly.each_function() if name == handler)
    return found


def test_every_function_is_listed_here(assembly: Assembly) -> None:
    listed = [(str(case.values[0]), str(case.values[1])) for case in OF_VERSIONS]
    listed += [(door(assembly, handler).name, handler) for handler in DOORS]

    assert sorted(listed) == sorted(
        (template.name, handler) for template, handler, _ in assembly.each_function()
    )


@pytest.mark.parametrize("handler", DOORS)
def test_a_door_is_allowed_exactly(assembly: Assembly, handler: str) -> None:
    assert allowed(door(assembly, handler), handler) == DOORS[handler]


@pytest.mark.parametrize(("stack", "handler", "expected"), OF_VERSIONS)
def test_a_function_of_any_version_still_has_all_that_its_providers_ask_for(
    assembly: Assembly, stack: str, handler: str, expected: set[str]
) -> None:
    """Also one of an older version, whose runs may be paused; and it has nothing more."""
    assert allowed(assembly.template(stack), handler) == expected


def test_of_a_versions_functions_only_the_one_that_mails_may_mail(assembly: Assembly) -> None:
    for version, definition in REGISTRY.items():
        if definition.name != "cancel-refund":
            continue
        template = assembly.template(stack_of(definition))
        may_mail = {name for name in template.functions() if MAIL <= allowed(template, name)}
        may_pay = {name for name in template.functions() if STRIPE <= allowed(template, name)}

        assert may_mail == {f"{definition.slice_package}.send_receipt.handler"}, version
        # The secret is also read to look: by whoever confirms, looks up, or writes to a customer.
        assert may_pay == set(template.functions()) - {
            "workflows.resume.handler",
            f"{definition.slice_package}.request_approval.handler",
        }


def test_nobody_may_delete_from_the_ledger_or_do_everything_anywhere(assembly: Assembly) -> None:
    for template in assembly.templates():
        for policy in template.resources("AWS::IAM::Policy").values():
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
                assert not {found for found in actions(statement) if "*" in found}
                assert not {found for found in actions(statement) if "Delete" in found} - {
                    "logs:DeleteLogDelivery",
                    "sqs:DeleteMessage",
                }


def test_no_role_takes_a_ready_made_policy(assembly: Assembly) -> None:
    for template in assembly.templates():
        for role in template.resources("AWS::IAM::Role").values():
            assert "ManagedPolicyArns" not in role["Properties"]


def test_the_whole_of_a_service_is_open_to_no_function(assembly: Assembly) -> None:
    for template, handler, _ in assembly.each_function():
        for statement in template.function_statements(handler):
            assert "*" not in arns(statement)


def needs_of(definition: WorkflowDefinition) -> set[Need]:
    """Return what the providers of a version's writes ask for."""
    return {need for found in definition.operations for need in CONTRACTS[found.provider].needs}


def test_mail_goes_out_in_the_name_of_one_address(assembly: Assembly) -> None:
    ses = "arn:<AWS::Partition>:ses:<AWS::Region>:<AWS::AccountId>"
    mails = [
        found
        for template, handler, _ in assembly.each_function()
        for found in template.function_statements(handler)
        if actions(found) & MAIL
    ]

    assert len(mails) >= sum(Need.SEND_MAIL in needs_of(found) for found in REGISTRY.values())
    for mail in mails:
        assert mail["Condition"] == {"StringEquals": {"ses:FromAddress": "refunds@example.com"}}
        assert arns(mail) == [
            f"{ses}:configuration-set/recovery-ledger-receipts",
            f"{ses}:identity/example.com",
            f"{ses}:identity/refunds@example.com",
        ]


def test_one_secret_can_be_read(assembly: Assembly) -> None:
    secrets = {
        arn
        for template, handler, _ in assembly.each_function()
        for statement in template.function_statements(handler)
        if actions(statement) == STRIPE
        for arn in arns(statement)
    }

    assert secrets == {
        "arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>"
        ":secret:recovery-ledger/stripe-??????"
    }


@pytest.mark.parametrize(
    ("index", "readers"),
    [
        ("due", {"reconciler.census.handler", "reconciler.sweeper.handler"}),
        ("review", {"api.list_reviews.handler"}),
    ],
)
def test_an_index_is_read_by_those_who_need_it(
    assembly: Assembly, index: str, readers: set[str]
) -> None:
    allowed_to = {
        handler
        for template, handler, _ in assembly.each_function()
        for statement in template.function_statements(handler)
        if any(arn.endswith(f"/index/{index}") for arn in arns(statement))
    }

    assert allowed_to == readers


STATES = "arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>"


def test_executions_of_other_systems_are_out_of_reach(assembly: Assembly) -> None:
    ours = {f"{STATES}:stateMachine:recovery-ledger-*", f"{STATES}:execution:recovery-ledger-*"}

    for template, handler, _ in assembly.each_function():
        for statement in template.function_statements(handler):
            if any(found.startswith("states:") for found in actions(statement)):
                assert set(arns(statement)) <= ours


@pytest.mark.parametrize("definition", REGISTRY.values(), ids=REGISTRY.keys())
def test_executions_of_every_version_are_within_reach(
    assembly: Assembly, definition: WorkflowDefinition
) -> None:
    """A run that is paused on an older version is woken, started anew and asked after as before."""
    name = stack_of(definition)
    targets = {
        "states:StartExecution": f"{STATES}:stateMachine:{name}",
        "states:SendTaskSuccess": f"{STATES}:stateMachine:{name}",
        "states:DescribeExecution": f"{STATES}:execution:{name}:run_1-e2",
    }
    machine = assembly.template(name).only("AWS::StepFunctions::StateMachine")
    needed = [
        (door(assembly, handler), handler, action)
        for handler, expected in DOORS.items()
        for action in sorted(expected & set(targets))
    ]

    assert machine["Properties"]["StateMachineName"] == name
    assert {action for _, _, action in needed} == set(targets)
    for template, handler, action in needed:
        reached = [
            pattern
            for statement in template.function_statements(handler)
            if action in actions(statement)
            for pattern in arns(statement)
        ]
        assert any(fnmatchcase(targets[action], pattern) for pattern in reached), (handler, action)


@pytest.mark.parametrize("definition", REGISTRY.values(), ids=REGISTRY.keys())
def test_a_state_machine_may_invoke_its_own_functions_and_no_other(
    assembly: Assembly, definition: WorkflowDefinition
) -> None:
    template = assembly.template(stack_of(definition))
    role = template.only("AWS::StepFunctions::StateMachine")["Properties"]["RoleArn"]
    (invoke,) = (
        found
        for found in template.statements(role["Fn::GetAtt"][0])
        if "lambda:InvokeFunction" in actions(found)
    )

    own = {f"<{name}.Arn>" for name in template.resources("AWS::Lambda::Function")}
    assert len(own) == len(definition.stages) + 2
    assert actions(invoke) == {"lambda:InvokeFunction"}
    assert set(arns(invoke)) == own
