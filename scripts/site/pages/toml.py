"""Keys of cmbuild.toml and board.toml, from the models that read them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from cmbuild import discovery
from cmbuild.boards.descriptor import BoardFile
from cmbuild.hardware import methods
from cmbuild.launchers import simulators
from cmbuild.projects.file import ProjectFile
from pages.tables import table

Schema = Mapping[str, Any]


def page() -> str:
    parts = ["# cmbuild.toml and board.toml\n", "## cmbuild.toml\n", *_keys(ProjectFile)]
    parts += ["## board.toml\n", *_keys(BoardFile)]
    for kind, folder in (("launchers", simulators), ("flash", methods)):
        for name, model in discovery.entries(folder, "TABLE").items():
            parts += [f"### {kind}.{name}\n", f"{_summary(model)}\n", *_keys(model)]
    return "\n".join(parts)


def _summary(model: type) -> str:
    return " ".join((inspect.getdoc(model) or "").partition("\n\n")[0].split())


def _keys(model: Any) -> Iterator[str]:
    schema = model.model_json_schema()
    tables = {model.__name__: schema, **schema.get("$defs", {})}
    for name, inner in tables.items():
        if "properties" not in inner:
            continue
        if name != model.__name__:
            yield f"**{_title(inner, name)}**\n"
        rows = [
            [f"`{key}`", type_of(value), _meaning(value)]
            for key, value in inner["properties"].items()
        ]
        if rows:
            yield table(["key", "type", "meaning"], rows)


def _title(schema: Schema, name: str) -> str:
    return " ".join(str(schema.get("description", name)).partition("\n\n")[0].split())


def _meaning(value: Schema) -> str:
    text = str(value.get("description", ""))
    default = value.get("default")
    return text if default in (None, {}, []) else f"{text} Default: `{default}`."


def type_of(value: Schema) -> str:
    if "$ref" in value:
        return value["$ref"].rpartition("/")[2].removesuffix("File").lower()
    if "enum" in value:
        return " or ".join(f"`{each}`" for each in value["enum"])
    if "anyOf" in value:
        return " or ".join(type_of(each) for each in value["anyOf"] if each.get("type") != "null")
    if value.get("type") == "array":
        return f"list of {type_of(value.get('items', {}))}"
    if value.get("type") == "object":
        inner = value.get("additionalProperties")
        return f"tables of {type_of(inner)}" if isinstance(inner, dict) else "table"
    kinds = value.get("type", "any")
    return kinds if isinstance(kinds, str) else " or ".join(kinds)
