"""View-like operators: the logical order of elements, whatever the dim orders."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from harness.calls import In, Out, calling
from hypothesis import given
from hypothesis import strategies as st

from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.view import Part, View
from cmcompiler.ir.reference import evaluate
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.plan import Base, Ref
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.program import Allocation, KernelInstruction, Method, Program, TensorValue

INT8 = np.dtype(np.int8)


@st.composite
def shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes with equally many elements."""
    factors = draw(st.lists(st.sampled_from((1, 1, 2, 3)), max_size=5))

    def grouped() -> tuple[int, ...]:
        shape: list[int] = []
        for factor in factors:
            if shape and draw(st.booleans()):
                shape[-1] *= factor
            else:
                shape.append(factor)
        return tuple(shape)

    return grouped(), grouped()


@st.composite
def orders(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    return tuple(draw(st.permutations(range(rank))))


def value(shape: tuple[int, ...], order: tuple[int, ...], offset: int) -> TensorValue:
    return TensorValue(INT8, shape, order, allocation=Allocation(1, offset))


def copied(source: TensorValue, target: TensorValue) -> Program:
    call = KernelInstruction("aten::view_copy.out", (0, 2, 1, 1))
    values = (source, target, target.sizes)
    return Program(0, (Method("forward", values, (0,), (1,), (call,), (0, 4096)),))


@given(st.data(), shapes())
def test_reshape(data: st.DataObject, pair: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    before, after = pair
    source = value(before, data.draw(orders(len(before))), 0)
    target = value(after, data.draw(orders(len(after))), 2048)
    graph = build_graph(copied(source, target))
    x = np.arange(np.prod(before), dtype=np.int8).reshape(before)
    (actual,) = evaluate(graph, [x]).outputs
    assert np.array_equal(actual, x.reshape(after))


def test_dimensions_of_1_come_and_go_without_moving_memory() -> None:
    source = value((2, 1, 3, 4), (0, 2, 3, 1), 0)
    for order in permutations(range(3)):
        graph = build_graph(copied(source, value((2, 3, 4), order, 2048)))
        assert len(graph.nodes) == 1 + (order != (0, 1, 2))
        assert isinstance(graph.nodes[0].op, View)


@pytest.mark.parametrize(
    ("order", "dim", "part", "offset"),
    [
        ((0, 1, 2), 0, slice(1, 3), 32),
        ((0, 1, 2), 0, slice(0, 2), 0),
        ((2, 0, 1), 2, slice(2, 3), 24),  # not a multiple of 16
        ((2, 0, 1), 2, slice(4, 8), 48),
        ((0, 1, 2), 1, slice(0, 2), None),
        ((0, 1, 2), 0, slice(0, 3, 2), None),
    ],
)
def test_a_part_that_lies_together_is_a_view(
    order: tuple[int, ...], dim: int, part: slice, offset: int | None
) -> None:
    x = np.arange(96, dtype=np.int8).reshape(3, 4, 8)
    expected = x[(slice(None),) * dim + (part,)]
    arguments = [In(x, order), dim, part.start, part.stop, part.step or 1]
    out = Out(np.int8, expected.shape, order)
    example = calling("aten::slice_copy.Tensor_out", *arguments, out)
    (node,) = example.graph.nodes
    if offset is None or offset % 16:
        assert isinstance(node.op, Copy)
    else:
        assert isinstance(node.op, Part) and node.op.offset == offset
    assert np.array_equal(example.reference.outputs[0], expected)


def test_a_part_of_a_part() -> None:
    x = np.arange(96, dtype=np.int8)
    whole, half, quarter = (
        Tensor(name, INT8, (n,)) for name, n in [("x", 96), ("h", 48), ("q", 16)]
    )
    nodes = (
        Node(Part((48,), 32), (whole,), (half,), "h"),
        Node(Part((16,), 16), (half,), (quarter,), "q"),
    )
    ports = [Port(t.name, t, t.shape, (0,)) for t in (whole, quarter)]
    graph = Graph("parts", nodes, (ports[0],), (ports[1],))
    assert np.array_equal(evaluate(graph, [x]).outputs[0], x[48:64])
    plan = make_plan(graph, Isa.SCALAR)
    assert plan.steps == () and plan.arena_bytes == 96 + SLACK
    assert plan.places[quarter] == Ref(Base.ARENA, 48)
