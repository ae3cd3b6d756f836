"""Views of views, of parts of tensors, and views that change nothing."""

from __future__ import annotations

import numpy as np

from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.pte.program import Allocation, KernelInstruction, Method, Program, TensorValue


def tensor(shape: tuple[int, ...], offset: int) -> TensorValue:
    order = tuple(range(len(shape)))
    return TensorValue(np.dtype(np.float32), shape, order, None, Allocation(1, offset))


def test_a_view_of_a_part_is_of_that_part() -> None:
    source, row, squeezed = tensor((2, 4), 0), tensor((1, 4), 64), tensor((4,), 128)
    values = (source, row, squeezed, 0, 1, 2)
    cut = KernelInstruction("aten::slice_copy.Tensor_out", (0, 3, 4, 5, 4, 1))
    squeeze = KernelInstruction("aten::squeeze_copy.dim_out", (1, 3, 2))
    method = Method("forward", values, (0,), (2,), (cut, squeeze), (0, 256))
    graph = build_graph(Program(0, (method,)))
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert [node.op.view_of for node in graph.nodes] == [0, 0]
    assert evaluate(graph, [x]).outputs[0].tolist() == [4, 5, 6, 7]


def test_a_view_that_changes_nothing_is_read_where_it_is() -> None:
    """Clones of residual inputs would keep blocks of them from running row by row."""
    source, same, result = tensor((2, 4), 0), tensor((2, 4), 64), tensor((2, 4), 128)
    values = (source, same, result, 0)
    squeeze = KernelInstruction("aten::squeeze_copy.dim_out", (0, 3, 1))
    absolute = KernelInstruction("aten::abs.out", (1, 2))
    method = Method("forward", values, (0,), (2,), (squeeze, absolute), (0, 256))
    graph = build_graph(Program(0, (method,)))
    (node,) = graph.nodes
    assert node.inputs == (graph.inputs[0].tensor,)


def test_an_output_that_is_the_input_stays() -> None:
    values = (tensor((2, 4), 0), tensor((2, 4), 64), 0)
    squeeze = KernelInstruction("aten::squeeze_copy.dim_out", (0, 2, 1))
    graph = build_graph(Program(0, (Method("forward", values, (0,), (1,), (squeeze,), (0, 256)),)))
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert evaluate(graph, [x]).outputs[0].tolist() == x.tolist()
