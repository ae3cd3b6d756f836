from __future__ import annotations

from pathlib import Path

import pytest

from cmcompiler.importer.build import build_graph
from cmcompiler.ir.arithmetic import Arithmetic, arithmetics, strongest
from cmcompiler.pte.reader import read_program

PROGRAMS = Path(__file__).parents[2] / "data" / "programs"


def of(name: str, io: str = "program") -> dict[str, set[Arithmetic]]:
    """By the short names of ops."""
    graph = build_graph(read_program((PROGRAMS / f"{name}.pte").read_bytes()), "forward", io)
    collected: dict[str, set[Arithmetic]] = {}
    for node, arithmetic in zip(graph.nodes, arithmetics(graph), strict=True):
        collected.setdefault(node.op.label, set()).add(arithmetic)
    return collected


def test_conversions_at_inputs_and_outputs_are_the_boundary() -> None:
    actual = of("network")
    assert actual.pop("quantize") == {Arithmetic.BOUNDARY}
    assert actual.pop("dequantize") == {Arithmetic.BOUNDARY}
    assert set.union(*actual.values()) == {Arithmetic.INTEGER}


def test_without_them_all_is_in_integers() -> None:
    assert set.union(*of("network", "int8").values()) == {Arithmetic.INTEGER}


@pytest.mark.parametrize(
    ("each", "together"),
    [
        ([], Arithmetic.INTEGER),
        ([Arithmetic.BOUNDARY, Arithmetic.INTEGER], Arithmetic.BOUNDARY),
        ([Arithmetic.FLOAT, Arithmetic.BOUNDARY], Arithmetic.FLOAT),
    ],
    ids=["none", "boundary", "float"],
)
def test_several_nodes_are_as_float_as_any(each: list[Arithmetic], together: Arithmetic) -> None:
    assert strongest(each) is together
