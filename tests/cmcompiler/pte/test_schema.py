"""The field numbers match the schema in ExecuTorch's wheel."""

from __future__ import annotations

import importlib.util
import inspect
import re
from enum import IntEnum
from pathlib import Path

import pytest

from cmcompiler.pte import schema

CLASSES = [
    item
    for _, item in inspect.getmembers(schema, inspect.isclass)
    if issubclass(item, IntEnum) and item is not IntEnum
]


def declarations() -> dict[str, dict[str, int]]:
    """Numbers by name, of all tables, unions and enums of the wheel's schema."""
    spec = importlib.util.find_spec("executorch")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("executorch is not installed")
    folder = Path(next(iter(spec.submodule_search_locations))) / "exir" / "_serialize"
    text = "\n".join((folder / f"{name}.fbs").read_text() for name in ("program", "scalar_type"))
    text = re.sub(r"//.*", "", text)
    blocks = re.findall(r"(table|union|enum) (\w+)[^{]*\{([^}]*)\}", text)
    unions = {name for kind, name, _ in blocks if kind == "union"}
    return {name: _numbers(kind, body, unions) for kind, name, body in blocks}


def _numbers(kind: str, body: str, unions: set[str]) -> dict[str, int]:
    if kind == "union":
        members = [item.strip() for item in body.split(",") if item.strip()]
        return {name: number for number, name in enumerate(members, 1)}
    if kind == "enum":
        return {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)", body)}
    numbers: dict[str, int] = {}
    slot = 0
    for name, type_name in re.findall(r"(\w+)\s*:\s*\[?(\w+)", body):
        if type_name in unions:
            numbers[f"{name.upper()}_TYPE"] = slot
            slot += 1
        numbers[name.upper()] = slot
        slot += 1
    return numbers


@pytest.mark.parametrize("entity", CLASSES, ids=lambda item: item.__name__)
def test_numbers_are_those_of_the_wheel(entity: type[IntEnum]) -> None:
    declared = declarations()[entity.__name__.removesuffix("Table")]
    ours = {member.name: member.value for member in entity}
    assert ours == {name: declared.get(name) for name in ours}


@pytest.mark.parametrize("name", ["KernelTypes", "InstructionArguments", "ScalarType"])
def test_codes_are_complete(name: str) -> None:
    assert {m.name: m.value for m in getattr(schema, name)} == declarations()[name]


def test_identifier_is_that_of_the_wheel() -> None:
    spec = importlib.util.find_spec("executorch")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("executorch is not installed")
    root = Path(next(iter(spec.submodule_search_locations)))
    program = (root / "exir/_serialize/program.fbs").read_text()
    bundled = (root / "devtools/bundled_program/serialize/bundled_program_schema.fbs").read_text()
    assert f'file_identifier "{schema.FILE_IDENTIFIER.decode()}"' in program
    assert f'file_identifier "{schema.BUNDLED_IDENTIFIER.decode()}"' in bundled
