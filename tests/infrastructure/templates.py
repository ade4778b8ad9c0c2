"""Reading synthesized templates the way a reviewer does: by type, by handler, by permission."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Resource = dict[str, Any]
OWN_LOG = {"logs:CreateLogStream", "logs:PutLogEvents"}
OWN_TRACE = {"xray:PutTelemetryRecords", "xray:PutTraceSegments"}


@dataclass(frozen=True)
class Template:
    """One synthesized stack."""

    name: str
    body: dict[str, Any]

    def resources(self, kind: str) -> dict[str, Resource]:
        """Return the resources of type ``kind`` by logical id."""
        return {
            name: found for name, found in self.body["Resources"].items() if found["Type"] == kind
        }

    def only(self, kind: str) -> Resource:
        """Return the one resource of type ``kind``. Raises ValueError when there are others."""
        (found,) = self.resources(kind).values()
        return dict(found)

    def functions(self) -> dict[str, Resource]:
        """Return the functions by handler, of which a stack has one each."""
        functions = self.resources("AWS::Lambda::Function").values()
        found = {function["Properties"]["Handler"]: function for function in functions}
        if len(found) != len(functions):
            raise ValueError(f"Two functions of {self.name} have one handler.")
        return found

    def statements(self, role: str) -> list[dict[str, Any]]:
        """Return what the role with this logical id is allowed."""
        return [
            statement
            for policy in self.resources("AWS::IAM::Policy").values()
            if {"Ref": role} in policy["Properties"]["Roles"]
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        ]

    def function_statements(self, handler: str) -> list[dict[str, Any]]:
        """Return what a function is allowed beyond writing its own log and trace."""
        role = self.functions()[handler]["Properties"]["Role"]["Fn::GetAtt"][0]
        return [
            found for found in self.statements(role) if actions(found) not in (OWN_LOG, OWN_TRACE)
        ]


@dataclass(frozen=True)
class Assembly:
    """A synthesized cloud assembly on disk."""

    path: Path

    def templates(self) -> list[Template]:
        """Return every stack's template."""
        return [
            Template(path.name.removesuffix(".template.json"), json.loads(path.read_text()))
            for path in sorted(self.path.glob("*.template.json"))
        ]

    def template(self, name: str) -> Template:
        """Return the template of the stack called ``name``."""
        (found,) = (template for template in self.templates() if template.name == name)
        return found

    def code(self, template: Template, handler: str) -> Path:
        """Return the folder that becomes a function's code."""
        key = template.functions()[handler]["Properties"]["Code"]["S3Key"]
        return self.path / f"asset.{key.removesuffix('.zip')}"

    def each_function(self) -> Iterator[tuple[Template, str, Resource]]:
        """Yield every function of every stack with its handler."""
        for template in self.templates():
            for handler, function in template.functions().items():
                yield template, handler, function


def actions(statement: dict[str, Any]) -> set[str]:
    """Return a statement's actions."""
    return set(_list(statement["Action"]))


def arns(statement: dict[str, Any]) -> list[str]:
    """Return a statement's resources as text, references in angle brackets."""
    return [text(found) for found in _list(statement["Resource"])]


def text(value: Any) -> str:
    """Return a template value as text, with what CloudFormation fills in named in brackets."""
    match value:
        case str():
            return value
        case {"Fn::Join": [str(separator), list(parts)]}:
            return separator.join(text(part) for part in parts)
        case {"Ref": str(name)}:
            return f"<{name}>"
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"<{name}.{attribute}>"
        case {"Fn::ImportValue": str(name)}:
            return f"<{name}>"
    raise ValueError(f"Not a text value: {value}")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
