"""What each command prints with --json, from the documents themselves."""

from __future__ import annotations

from collections.abc import Iterator

from cmbuild.cli.schemas import documents, schema
from pages.tables import table
from pages.toml import Schema, type_of


def page() -> str:
    parts = ["# JSON\n", "`cmbuild schema [VERB]` prints these as JSON Schema.\n"]
    for verb in documents():
        parts += [f"## {verb}\n", *_verb(schema(verb))]
    return "\n".join(parts)


def _verb(found: Schema) -> Iterator[str]:
    for name, inner in found["$defs"].items():
        if "properties" not in inner:
            continue
        yield f"**{name.removesuffix('Document')}**\n"
        rows = [[f"`{key}`", type_of(value)] for key, value in inner["properties"].items()]
        yield table(["key", "type"], rows)
