"""Programs with one parameter of one operator changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from cmcompiler.ir.graph import Graph


@dataclass(frozen=True)
class Mutant:
    """
    Attributes:
        change: `Conv2d.bias first x1.05 of cortex_m::quantized_conv2d.out #3`.
    """

    change: str
    graph: Graph


def mutants(graph: Graph) -> Iterator[Mutant]:
    """Each field of each op: integers + 1, numbers x 1.02, members of a tuple swapped, a channel's
    weights x 0.8, a bias + 5 %, a table rolled by one.
    """
    for place, node in enumerate(graph.nodes):
        for name, op in _changed_ops(node.op):
            nodes = list(graph.nodes)
            nodes[place] = replace(node, op=op)
            change = f"{type(node.op).__name__}.{name} of {node.source}"
            yield Mutant(change, replace(graph, nodes=tuple(nodes)))


def _changed_ops(op: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(op) if is_dataclass(op) else ():
        for kind, value in _changed(getattr(op, field.name)):
            try:
                yield f"{field.name} {kind}", replace(op, **{field.name: value})
            except (ValueError, TypeError, AssertionError):
                continue  # the op itself refuses it


def _changed(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool | np.bool_):
        yield "not", not value
    elif isinstance(value, int | np.integer):
        yield "+ 1", value + 1
        if abs(value) > 10_000:
            yield "x 1.02", int(value * 1.02)
    elif isinstance(value, float):
        yield "x 1.02", value * 1.02
    elif isinstance(value, bytes) and len(value) > 1:
        yield "rolled", value[1:] + value[:1]
    elif isinstance(value, tuple) and value and all(type(item) is int for item in value):
        yield from _changed_tuple(value)
    elif isinstance(value, np.ndarray) and value.size and value.dtype.kind in "if":
        yield from _changed_array(value)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _changed_ops(value)


def _changed_tuple(value: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    yield "+ 1", (value[0] + 1, *value[1:])
    for place, (first, second) in enumerate(pairwise(value)):
        if first != second:
            yield "swapped", (*value[:place], second, first, *value[place + 2 :])
            return


def _changed_array(value: np.ndarray[Any, Any]) -> Iterator[tuple[str, Any]]:
    new = value.copy()
    if value.dtype == np.int8:
        rows = new.reshape(len(value), -1)
        rows[0] = np.clip(np.rint(rows[0] * 0.8), -127, 127)
        yield "channel x 0.8", new
        yield "rolled", np.roll(value, 1, axis=0)
    else:
        first = new.flat[0]
        new.flat[0] = first * 1.05 if value.dtype.kind == "f" else int(first * 1.05) + 1
        yield "first x 1.05", new
