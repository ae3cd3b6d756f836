"""Compares the numbers in a package's header with its plan."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod

from cmcompiler.emit.interface import PackageInterface
from cmcompiler.ir.graph import Port
from cmcompiler.plan.plan import Plan

_DEFINE = re.compile(r"^#define (\w+) (.+)$", re.MULTILINE)
_DECLARED = re.compile(r"^(?! \*).*?(\w+)\([^()]*\);$", re.MULTILINE)
_ENDS = ("COUNT", "BYTES", "SHAPE", "SCALE", "ZERO_POINT", "ROWS", "ROW_COUNT")


def differences(plan: Plan, interface: PackageInterface) -> list[str]:
    """Macros that are not the plan's, and macros and functions that are not alone in their name."""
    header = interface.header()
    pairs, functions = _DEFINE.findall(header), _DECLARED.findall(header)
    names = [name for name, _ in pairs] + functions
    listed = [f"{name} twice" for name in sorted({x for x in names if names.count(x) > 1})]
    defined = dict(pairs)
    for name, value in expected_macros(plan, interface).items():
        if defined.get(name) != value:
            listed.append(f"{name} is {defined.get(name)}, not {value}")
    return listed


def expected_macros(plan: Plan, interface: PackageInterface) -> Mapping[str, str | None]:
    """The numbers of a plan under the names of a header; None for what it must not define."""
    prefix = interface.plan.model.upper()
    macros = {f"{prefix}_ARENA_BYTES": str(plan.arena_bytes)}
    absent: dict[str, str | None] = {}
    rows = fed_rows(plan)
    for kind, ports, named in (
        ("input", plan.inputs, interface.inputs),
        ("output", plan.outputs, interface.outputs),
    ):
        assert len(ports) == len(named)
        for index, (port, names) in enumerate(zip(ports, named, strict=True)):
            values = _port(port, rows.get((kind, index)))
            macros |= {f"{names.macro}_{end}": value for end, value in values.items()}
            absent |= {f"{names.macro}_{end}": None for end in _ENDS if end not in values}
    # What one port does not have may be a number of another: the COUNT of `a_row`.
    return {**absent, **macros}


def fed_rows(plan: Plan) -> Mapping[tuple[str, int], tuple[int, int]]:
    """Rows and elements of each, by kind and index: from the steps that take or give them."""
    collected = {}
    for step in plan.steps:
        if step.kernel in ("feed", "drain"):
            kind = "input" if step.kernel == "feed" else "output"
            words = {argument.name: argument.value for argument in step.arguments}
            index = int(str(words[kind]))
            ports = plan.inputs if kind == "input" else plan.outputs
            size = ports[index].tensor.dtype.itemsize
            rows = step.rows[1] - step.rows[0]
            collected[kind, index] = (rows, int(str(words["row_bytes"])) // size)
    return collected


def _port(port: Port, rows: tuple[int, int] | None) -> dict[str, str]:
    count = prod(port.shape)
    values = {
        "COUNT": str(count),
        "BYTES": str(count * port.tensor.dtype.itemsize),
        "SHAPE": f"{{{', '.join(map(str, port.shape)) or '1'}}}",
    }
    if rows is not None:
        values |= {"ROWS": str(rows[0]), "ROW_COUNT": str(rows[1])}
    if port.quantization is not None:
        values["SCALE"] = f"{port.quantization.scale!r}f"
        values["ZERO_POINT"] = f"({port.quantization.zero_point})"
    return values
