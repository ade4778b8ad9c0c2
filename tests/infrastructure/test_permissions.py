"""Each function may do what its stage needs, and its neighbours' work is closed to it."""

import pytest

from tests.infrastructure.templates import Assembly, Template, actions, arns

READ_RUN = {"dynamodb:GetItem", "dynamodb:Query"}
CHANGE_RUN = READ_RUN | {"dynamodb:PutItem"}
STRIPE = {"secretsmanager:GetSecretValue"}
MAIL = {"ses:SendEmail"}
DOORBELL = {"states:SendTaskSuccess"}
START = {"states:DescribeExecution", "states:StartExecution"}
# What the library grants on the queue of events that could not be handled.
KEEP_EVENT = {"sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"}

SLICE = "workflows.cancel_refund.v4"
EXPECTED = {
    "workflows.resume.handler": CHANGE_RUN,
    "workflows.reconcile.handler": CHANGE_RUN | STRIPE,
    f"{SLICE}.confirm_account.handler": CHANGE_RUN | STRIPE,
    f"{SLICE}.request_approval.handler": CHANGE_RUN | DOORBELL,
    f"{SLICE}.cancel_renewal.handler": CHANGE_RUN | STRIPE,
    f"{SLICE}.issue_refund.handler": CHANGE_RUN | STRIPE,
    f"{SLICE}.send_receipt.handler": CHANGE_RUN | STRIPE | MAIL,
    "events.mail_event.handler": CHANGE_RUN | START | KEEP_EVENT,
    "events.stripe_notice.handler": CHANGE_RUN | STRIPE | START,
    "reconciler.execution_status.handler": CHANGE_RUN | START | KEEP_EVENT,
    "reconciler.sweeper.handler": CHANGE_RUN | STRIPE | START | DOORBELL,
    "api.start_run.handler": CHANGE_RUN | STRIPE | START,
    "api.get_run.handler": READ_RUN,
    "api.decide_approval.handler": CHANGE_RUN | DOORBELL,
    "api.operator_view.handler": READ_RUN,
    "api.act_on_run.handler": CHANGE_RUN | STRIPE | START,
    "api.resume_packet.handler": READ_RUN,
    "api.list_reviews.handler": READ_RUN,
    "api.customer_words.handler": READ_RUN,
    "console.serve_page.handler": set(),
}


def template_of(assembly: Assembly, handler: str) -> Template:
    """Return the template that holds the one function with ``handler``."""
    (found,) = (template for template, name, _ in assembly.each_function() if name == handler)
    return found


def test_every_function_is_listed_here(assembly: Assembly) -> None:
    assert {handler for _, handler, _ in assembly.each_function()} == set(EXPECTED)


@pytest.mark.parametrize("handler", EXPECTED)
def test_a_function_is_allowed_exactly(assembly: Assembly, handler: str) -> None:
    statements = template_of(assembly, handler).function_statements(handler)

    assert set().union(*(actions(found) for found in statements)) == EXPECTED[handler]


def test_nobody_may_delete_from_the_ledger_or_do_everything_anywhere(assembly: Assembly) -> None:
    for template in assembly.templates():
        for policy in template.resources("AWS::IAM::Policy").values():
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
                assert not {found for found in actions(statement) if "*" in found}
                assert not {found for found in actions(statement) if "Delete" in found} - {
                    "logs:DeleteLogDelivery"
                }


def test_no_role_takes_a_ready_made_policy(assembly: Assembly) -> None:
    for template in assembly.templates():
        for role in template.resources("AWS::IAM::Role").values():
            assert "ManagedPolicyArns" not in role["Properties"]


def test_the_whole_of_a_service_is_open_to_no_function(assembly: Assembly) -> None:
    for template, handler, _ in assembly.each_function():
        for statement in template.function_statements(handler):
            assert "*" not in arns(statement)


def test_mail_goes_out_in_the_name_of_one_address(assembly: Assembly) -> None:
    handler = f"{SLICE}.send_receipt.handler"
    (mail,) = (
        found
        for found in template_of(assembly, handler).function_statements(handler)
        if actions(found) == MAIL
    )

    assert mail["Condition"] == {"StringEquals": {"ses:FromAddress": "refunds@example.com"}}
    ses = "arn:<AWS::Partition>:ses:<AWS::Region>:<AWS::AccountId>"
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
    ("index", "reader"),
    [("due", "reconciler.sweeper.handler"), ("review", "api.list_reviews.handler")],
)
def test_an_index_is_read_by_one_function(assembly: Assembly, index: str, reader: str) -> None:
    readers = {
        handler
        for template, handler, _ in assembly.each_function()
        for statement in template.function_statements(handler)
        if any(arn.endswith(f"/index/{index}") for arn in arns(statement))
    }

    assert readers == {reader}


def test_executions_of_other_systems_are_out_of_reach(assembly: Assembly) -> None:
    states = "arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>"
    ours = {f"{states}:stateMachine:recovery-ledger-*", f"{states}:execution:recovery-ledger-*"}

    for template, handler, _ in assembly.each_function():
        for statement in template.function_statements(handler):
            if any(found.startswith("states:") for found in actions(statement)):
                assert set(arns(statement)) <= ours


def test_a_state_machine_may_invoke_its_own_functions_and_no_other(assembly: Assembly) -> None:
    template = assembly.template("recovery-ledger-cancel-refund-v4")
    role = template.only("AWS::StepFunctions::StateMachine")["Properties"]["RoleArn"]
    (invoke,) = (
        found
        for found in template.statements(role["Fn::GetAtt"][0])
        if "lambda:InvokeFunction" in actions(found)
    )

    own = {f"<{name}.Arn>" for name in template.resources("AWS::Lambda::Function")}
    assert actions(invoke) == {"lambda:InvokeFunction"}
    assert set(arns(invoke)) == own
