"""How error messages describe an instruction."""

from __future__ import annotations

from collections.abc import Sequence

from cmcompiler.pte.program import KernelInstruction, TensorList, TensorValue, Value

MOST_SHAPES = 8
"""Maximum number of shapes shown per instruction."""


def shapes(call: KernelInstruction, values: Sequence[Value]) -> str:
    """Shapes of a call's tensor arguments, outputs last."""
    indices: dict[int, None] = {}
    for argument in call.arguments:
        value = values[argument]
        members = value.items if isinstance(value, TensorList) else (argument,)
        indices.update((index, None) for index in members if index is not None)
    tensors = [value for i in indices if isinstance(value := values[i], TensorValue)]
    shown = [*map(str, tensors[:MOST_SHAPES]), *["…"] * (len(tensors) > MOST_SHAPES)]
    return ", ".join(shown) or "no tensors"
