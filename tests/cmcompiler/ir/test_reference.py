"""The reference interpreter."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from harness.programs import program_graph

from cmcompiler.errors import InvalidRequest
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.reference import evaluate
from cmcompiler.ir.tensor import Tensor

FLOAT = np.dtype(np.float32)


def test_inputs_and_outputs_are_logical() -> None:
    """The same pixels, in any memory order of the graph."""
    graph = program_graph("network")
    x = np.random.default_rng(0).standard_normal((1, 3, 6, 5)).astype(np.float32)
    before = x.copy()
    (output,) = evaluate(graph, [x]).outputs
    (same,) = evaluate(graph, [np.asfortranarray(x)]).outputs
    assert output.shape == (1, 3)
    assert np.array_equal(output, same)
    assert np.array_equal(x, before)


def test_tensors_are_kept_on_request() -> None:
    graph = program_graph("network")
    x = np.ones((1, 3, 6, 5), np.float32)
    written = [tensor for node in graph.nodes for tensor in node.outputs]
    actual = evaluate(graph, [x], keep=[*written, graph.inputs[0].tensor])
    assert set(actual.tensors) == {*written, graph.inputs[0].tensor}
    for tensor, array in actual.tensors.items():
        assert (array.shape, array.dtype) == (tensor.shape, tensor.dtype)
    assert actual.tensors[graph.inputs[0].tensor].shape == (1, 6, 5, 3)
    assert not evaluate(graph, [x]).tensors


def test_dead_arrays_are_freed() -> None:
    """A chain of eight arrays of a megabyte never keeps more than three of them."""
    tensors = [Tensor(f"t{i}", FLOAT, (512, 512)) for i in range(8)]
    nodes = [
        Node(Transpose((1, 0)), (before,), (after,), "transpose")
        for before, after in pairwise(tensors)
    ]
    ports = [Port(t.name, t, t.shape, (0, 1)) for t in (tensors[0], tensors[-1])]
    graph = Graph("g", tuple(nodes), (ports[0],), (ports[1],))
    x = np.arange(512 * 512, dtype=np.float32).reshape(512, 512)
    tracemalloc.start()
    try:
        (output,) = evaluate(graph, [x]).outputs
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.array_equal(output, x.T)
    assert peak < 3.5 * x.nbytes


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "0 inputs were given, the model takes 2"),
        ([np.zeros((2, 3), np.float32)] * 3, "3 inputs were given, the model takes 2"),
        (
            [np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)],
            "input_1 is float32[3, 2], the model takes float32[2, 3]",
        ),
        (
            [np.zeros((2, 3)), np.zeros((2, 3), np.float32)],
            "input_0 is float64[2, 3], the model takes float32[2, 3]",
        ),
    ],
)
def test_inputs_that_do_not_fit(inputs: list[np.ndarray], message: str) -> None:
    with pytest.raises(InvalidRequest) as error:
        evaluate(program_graph("two_inputs"), inputs)
    assert error.value.message == message


def test_a_reference_that_breaks_its_promise_is_a_bug() -> None:
    source, result = Tensor("a", FLOAT, (2, 3)), Tensor("b", FLOAT, (2, 3))
    node = Node(Transpose((1, 0)), (source,), (result,), "transpose #0")
    ports = [Port(t.name, t, t.shape, (0, 1)) for t in (source, result)]
    graph = Graph("g", (node,), (ports[0],), (ports[1],))
    with pytest.raises(ValueError, match="the reference of transpose #0"):
        evaluate(graph, [np.zeros((2, 3), np.float32)])
