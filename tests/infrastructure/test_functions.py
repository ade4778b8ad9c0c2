"""What every function has in common, whichever stack it is in."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.settings import Settings
from tests.infrastructure.conftest import ROOT
from tests.infrastructure.templates import Assembly, text

# Read by Powertools itself.
POWERTOOLS = {"POWERTOOLS_METRICS_NAMESPACE", "POWERTOOLS_SERVICE_NAME"}
# Serves files, reads no ledger, and has settings of its own.
PAGES = "console.serve_page.handler"
PAGE_SETTINGS = {"SIGN_IN_URL", "USER_POOL_CLIENT_ID"}
KNOWN = POWERTOOLS | {str(field.alias) for field in Settings.model_fields.values()}
REQUIRED = {str(field.alias) for field in Settings.model_fields.values() if field.is_required()}
SECRET_SHAPES = re.compile(r"sk_|rk_|whsec_|AKIA|password|-----BEGIN", re.IGNORECASE)


def test_the_handler_of_every_function_exists_in_its_code(assembly: Assembly) -> None:
    for template, handler, _ in assembly.each_function():
        module, name = handler.rsplit(".", 1)
        source = assembly.code(template, handler) / f"{module.replace('.', '/')}.py"
        tree = ast.parse(source.read_text(encoding="utf-8"))
        assigned = {
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in defined | assigned, handler


def imported(path: Path) -> Iterator[str]:
    """Yield every module of this project that a file imports, now or when it is called."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                found = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), names=names):
                found = [module, *(f"{module}.{alias.name}" for alias in names)]
            case _:
                continue
        yield from (name for name in found if (ROOT / "functions" / name.split(".")[0]).is_dir())


def test_whatever_the_code_of_a_function_imports_is_in_it(assembly: Assembly) -> None:
    """Code is filtered by stack: what was left out would be missed only once it is deployed."""
    whole = ROOT / "functions"
    for code in {assembly.code(template, name) for template, name, _ in assembly.each_function()}:
        for path in code.rglob("*.py"):
            for name in imported(path):
                module = Path(*name.split("."))
                exists = (whole / module).is_dir() or (whole / module).with_suffix(".py").exists()
                carried = (code / module).is_dir() or (code / module).with_suffix(".py").exists()
                assert carried or not exists, f"{path.relative_to(code)} imports {name}"


def test_a_function_is_told_names_and_addresses_and_never_a_secret(assembly: Assembly) -> None:
    for _, handler, function in assembly.each_function():
        variables = function["Properties"]["Environment"]["Variables"]
        if handler == PAGES:
            assert set(variables) == POWERTOOLS | PAGE_SETTINGS
        else:
            assert REQUIRED <= set(variables) <= KNOWN, handler
        for value in variables.values():
            assert not SECRET_SHAPES.search(text(value)), handler
            assert "{{resolve:" not in text(value), handler


@pytest.mark.parametrize(
    ("setting", "action"),
    [
        ("MAIL_FROM", "ses:SendEmail"),
        ("STRIPE_SECRET_ID", "secretsmanager:GetSecretValue"),
    ],
)
def test_a_setting_is_given_only_with_the_permission_to_use_it(
    assembly: Assembly, setting: str, action: str
) -> None:
    for template, handler, function in assembly.each_function():
        told = setting in function["Properties"]["Environment"]["Variables"]
        allowed = any(found["Action"] == action for found in template.function_statements(handler))
        assert told == allowed, handler


def test_every_log_ends_at_some_time(assembly: Assembly) -> None:
    for template in assembly.templates():
        for group in template.resources("AWS::Logs::LogGroup").values():
            assert group["Properties"]["RetentionInDays"] == 90


def test_every_function_writes_to_a_log_of_its_own(assembly: Assembly) -> None:
    groups = [
        (template.name, function["Properties"]["LoggingConfig"]["LogGroup"]["Ref"])
        for template, _, function in assembly.each_function()
    ]

    assert len(set(groups)) == len(groups)


def test_every_function_runs_on_arm_with_the_layer_of_its_stack(assembly: Assembly) -> None:
    for template, handler, function in assembly.each_function():
        (layer,) = template.resources("AWS::Lambda::LayerVersion")
        properties = function["Properties"]
        assert properties["Architectures"] == ["arm64"], handler
        assert properties["Runtime"] == "python3.13", handler
        assert properties["Layers"] == [{"Ref": layer}], handler


def test_the_layer_of_every_stack_is_the_same(assembly: Assembly) -> None:
    keys = {
        layer["Properties"]["Content"]["S3Key"]
        for template in assembly.templates()
        for layer in template.resources("AWS::Lambda::LayerVersion").values()
    }

    assert len(keys) == 1


def test_code_is_shipped_without_leftovers(assembly: Assembly) -> None:
    for template, handler, _ in assembly.each_function():
        code = assembly.code(template, handler)
        files = [path for path in code.rglob("*") if path.is_file()]
        assert files
        other = [path for path in files if path.suffix != ".py"]
        assert {path.parent.relative_to(code).as_posix() for path in other} == (
            {"console/static"} if handler == PAGES else set()
        ), handler
        assert len(files) < len(list((ROOT / "functions").rglob("*.py"))), handler
