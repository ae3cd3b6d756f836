"""Functions of one number as text: `mul.Tensor(x, sigmoid(x))`, with operators of torch.

The text is Python: calls and literals. Values used twice, and some others so that calls do not nest
deeply, are assigned first: `t0 = exp(x); div.Tensor(t0, add.Tensor(t0, 1))`.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ARGUMENT = "x"

_OPERATOR = re.compile(r"(\w+)(?:\.\w+)?\(")

DEEPEST = 16
"""Python's parser takes 90 nested calls."""


@dataclass(frozen=True, slots=True)
class Step:
    """A call in a function's chain.

    Attributes:
        operator: `mul.Tensor`; `sigmoid` if the overload is the default one.
        arguments, keywords: literals and values.
    """

    operator: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Value:
    """The result of a step, or the function's argument if there is no step."""

    step: int | None = None


def text_of(steps: Sequence[Step]) -> str:
    """The function whose result is that of the last step."""
    used = [
        value.step
        for step in steps
        for value in (*step.arguments, *step.keywords.values())
        if isinstance(value, Value)
    ]
    parts: list[str] = []
    assignments: list[str] = []
    for number, step in enumerate(steps):
        written = [_text(value, parts) for value in step.arguments]
        written += [f"{name}={_text(value, parts)}" for name, value in step.keywords.items()]
        call = f"{step.operator}({', '.join(written)})"
        if used.count(number) > 1 or number % DEEPEST == DEEPEST - 1:
            name = f"t{len(assignments)}"
            assignments.append(f"{name} = {call}")
            call = name
        parts.append(call)
    return "; ".join([*assignments, parts[-1]])


def is_literal(value: Any) -> bool:
    """Whether text can express an argument."""
    if isinstance(value, list | tuple):
        return all(map(is_literal, value))
    is_number = isinstance(value, int | float) and not math.isnan(value)
    return value is None or isinstance(value, str) or is_number


def _text(value: Any, parts: Sequence[str]) -> str:
    if isinstance(value, Value):
        return ARGUMENT if value.step is None else parts[value.step]
    if isinstance(value, float) and math.isinf(value):
        return "1e999" if value > 0 else "-1e999"  # what Python reads as infinite
    return repr(value)


def operators_of(text: str) -> tuple[str, ...]:
    """The operators of a function, about in the order in which they compute: `log`, `add`."""
    return tuple(
        name
        for statement in text.split("; ")
        for name in reversed(_OPERATOR.findall(statement.partition(" = ")[2] or statement))
    )


def evaluate(text: str, x: Any, operators: Any) -> Any:
    """The function of a tensor.

    Args:
        operators: `torch.ops.aten`.
    """
    names = {ARGUMENT: x}
    *assignments, last = ast.parse(text).body
    for statement in assignments:
        assert isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        names[statement.targets[0].id] = _value(statement.value, names, operators)
    assert isinstance(last, ast.Expr)
    return _value(last.value, names, operators)


def _value(node: ast.expr, names: Mapping[str, Any], operators: Any) -> Any:
    if isinstance(node, ast.Name):
        return names[node.id]
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    arguments = [_value(argument, names, operators) for argument in node.args]
    keywords = {
        str(keyword.arg): _value(keyword.value, names, operators) for keyword in node.keywords
    }
    packet, _, overload = ast.unparse(node.func).partition(".")
    operator = getattr(getattr(operators, packet), overload or "default")
    schema = getattr(operator, "_schema", None)
    for position, declared in enumerate(schema.arguments[: len(arguments)] if schema else ()):
        if isinstance(arguments[position], int | float) and "Tensor" in str(declared.type):
            arguments[position] = _tensor(arguments[position], names[ARGUMENT])
    return operator(*arguments, **keywords)


def _tensor(value: float | int | bool, x: Any) -> Any:
    """A number as operators without an overload for numbers take it."""
    return (x.bool() if isinstance(value, bool) else x).new_full((), value)
