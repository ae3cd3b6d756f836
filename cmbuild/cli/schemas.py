"""JSON Schemas of what `--json` prints, made from the documents themselves."""

from __future__ import annotations

from functools import cache, reduce
from importlib import import_module
from operator import or_
from types import ModuleType
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from cmbuild import discovery, report
from cmbuild.cli import verbs
from cmbuild.report.documents import Document, ErrorDocument, document_like

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class SchemaDocument(Document):
    """`cmbuild schema`: a JSON Schema, whatever its keys are."""

    model_config = ConfigDict(extra="allow", frozen=True)


@cache
def documents() -> dict[str, tuple[type[Document], ...]]:
    """By verb, for a command with results; any other prints an ErrorDocument.

    A verb prints its module's RESULT, if it has one, and the documents of cmbuild.report that name
    it.
    """
    by_verb: dict[str, dict[type[Document], None]] = {"schema": {SchemaDocument: None}}
    for name in discovery.names(verbs):
        result = getattr(_module(verbs, name), "RESULT", None)
        by_verb.setdefault(name, {} if result is None else {document_like(result): None})
    for name in discovery.names(report):
        for value in vars(_module(report, name)).values():
            if isinstance(value, type) and issubclass(value, Document):
                for verb in value.__dict__.get("verbs", ()):
                    by_verb[verb][value] = None
    return {verb: tuple(made) for verb, made in sorted(by_verb.items())}


def _module(package: ModuleType, name: str) -> ModuleType:
    return import_module(f"{package.__name__}.{name.replace('-', '_')}")


def schema(verb: str) -> dict[str, Any]:
    """The JSON Schema of one object that a verb prints: its results, its error, or both."""
    printed = documents()[verb]
    # pydantic makes a schema of a type; mypy does not take a computed one.
    union: Any = reduce(or_, (*printed, ErrorDocument))
    schema = TypeAdapter(union).json_schema(mode="serialization")
    definitions = schema["$defs"]
    failure = definitions[ErrorDocument.__name__]["properties"]
    for document in printed:
        definitions[document.__name__]["properties"] |= failure
    return {"$schema": DIALECT, "title": f"cmbuild {verb} --json", **schema}
