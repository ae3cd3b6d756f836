"""Quantised ports in place of float ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from harness.programs import program_graph

from cmcompiler.importer.boundary import (
    describe_ports,
    expose_quantized,
    keep_states_as_written,
    quantize_states,
)
from cmcompiler.ir.graph import Graph, MutableBuffer, Node, Port
from cmcompiler.ir.movement.store import Store
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import KernelCall, Op
from cmcompiler.ir.quantization import Quantization
from cmcompiler.ir.reference import evaluate, evaluate_all
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.dequantize import Dequantize
from cmcompiler.ops.quantize import Quantize

FLOAT, INT8 = np.dtype(np.float32), np.dtype(np.int8)
COARSE = Quantize(INT8, 0.5, 3, -128, 127)
FINE = Quantize(INT8, 0.25, 3, -128, 127)


class Chain:
    """Builds a graph node by node from one float input of 2x3."""

    def __init__(self) -> None:
        self.input = Tensor("input_0", FLOAT, (2, 3))
        self.nodes: list[Node] = []

    def then(self, op: Op, source: Tensor, dtype: np.dtype[np.generic], *shape: int) -> Tensor:
        number = len(self.nodes)
        result = Tensor(f"t{number}", dtype, shape)
        self.nodes.append(Node(op, (source,), (result,), f"{op.label} #{number}"))
        return result

    def graph(self, *outputs: Tensor) -> Graph:
        ports = (port(tensor, "output", number) for number, tensor in enumerate(outputs))
        inputs = (port(self.input, "input", 0),)
        return Graph("g", tuple(self.nodes), inputs, tuple(ports))


def port(tensor: Tensor, kind: str, number: int) -> Port:
    return Port(f"{kind}_{number}", tensor, tensor.shape, tuple(range(len(tensor.shape))))


def labels(nodes: Sequence[Node]) -> list[str]:
    return [node.op.label for node in nodes]


def test_unsigned_bytes_are_the_signed_ones_plus_128() -> None:
    signed, unsigned = (program_graph("network", io=io) for io in ("int8", "uint8"))
    assert (unsigned.inputs[0].tensor.dtype, unsigned.outputs[0].tensor.dtype) == (np.uint8, INT8)
    before, after = signed.inputs[0].quantization, unsigned.inputs[0].quantization
    assert after == Quantization(before.scale, before.zero_point + 128, 0, 255)
    sample = np.random.default_rng(2).integers(0, 256, signed.inputs[0].shape, np.uint8)
    (actual,) = evaluate(unsigned, (sample,)).outputs
    centred = (sample.astype(np.int16) - 128).astype(np.int8)
    np.testing.assert_array_equal(actual, *evaluate(signed, (centred,)).outputs)


@pytest.mark.parametrize("name", ["network", "two_inputs", "inline_constants"])
def test_quantised_ports_compute_the_same(name: str) -> None:
    floats, bytes_ = program_graph(name), program_graph(name, io="int8")
    assert "quantize" not in labels(bytes_.nodes)
    assert "dequantize" not in labels(bytes_.nodes)
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(p.shape).astype(np.float32) for p in floats.inputs]
    steps = []
    for array, given in zip(inputs, bytes_.inputs, strict=True):
        assert given.tensor.dtype == INT8
        q = given.quantization
        assert q is not None
        (stored,) = Quantize(INT8, q.scale, q.zero_point, q.minimum, q.maximum).reference(array)
        steps.append(stored)
    for right, stored, given in zip(
        evaluate(floats, inputs).outputs,
        evaluate(bytes_, steps).outputs,
        bytes_.outputs,
        strict=True,
    ):
        assert given.quantization is not None and not given.note
        actual = Dequantize(given.quantization.scale, given.quantization.zero_point)
        assert np.array_equal(actual.reference(stored)[0], right)


def test_float_ports_tell_the_quantisation_next_to_them() -> None:
    graph, exposed = program_graph("network"), program_graph("network", io="int8")
    assert {p.tensor.dtype for p in (*graph.inputs, *graph.outputs)} == {FLOAT}
    ports = zip((*graph.inputs, *graph.outputs), (*exposed.inputs, *exposed.outputs), strict=True)
    for ours, theirs in ports:
        assert ours.quantization == theirs.quantization
        assert ours.quantization is not None


def test_movements_go_on_in_the_quantised_type() -> None:
    chain = Chain()
    turned = chain.then(Transpose((1, 0)), chain.input, FLOAT, 3, 2)
    flat = chain.then(View((6,)), turned, FLOAT, 6)
    stored = chain.then(COARSE, flat, INT8, 6)
    doubled = chain.then(Dequantize(0.25, 1), stored, FLOAT, 6)
    output = chain.then(View((2, 3)), doubled, FLOAT, 2, 3)
    graph = chain.graph(output)
    exposed = expose_quantized(graph)
    assert exposed.inputs[0].tensor.dtype == exposed.outputs[0].tensor.dtype == INT8
    assert exposed.outputs[0].quantization == Quantization(0.25, 1, -128, 127)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (right,) = evaluate(graph, [x]).outputs
    (actual,) = evaluate(exposed, COARSE.reference(x)).outputs
    assert np.array_equal(Dequantize(0.25, 1).reference(actual)[0], right)


def test_one_quantisation_by_two_nodes() -> None:
    chain = Chain()
    first = chain.then(COARSE, chain.input, INT8, 2, 3)
    second = chain.then(COARSE, chain.input, INT8, 2, 3)
    outputs = [chain.then(Dequantize(1.0, 0), stored, FLOAT, 2, 3) for stored in (first, second)]
    exposed = expose_quantized(chain.graph(*outputs))
    assert {p.tensor for p in exposed.outputs} == {exposed.inputs[0].tensor}


def test_different_quantisations_stay_float() -> None:
    chain = Chain()
    stored = [chain.then(op, chain.input, INT8, 2, 3) for op in (COARSE, FINE)]
    graph = describe_ports(expose_quantized(chain.graph(*stored)))
    (given,) = graph.inputs
    assert given.tensor.dtype == FLOAT
    assert given.quantization is None
    assert given.note == "it is quantized in several ways"


def test_other_readers_keep_an_input_float() -> None:
    chain = Chain()
    stored = chain.then(COARSE, chain.input, INT8, 2, 3)
    graph = expose_quantized(chain.graph(stored, chain.input))
    assert graph.inputs[0].note == "it is output_1 too"
    assert graph.outputs[1].note == "no dequantize writes it"
    assert graph.outputs[0].note == ""

    chain = Chain()
    chain.then(COARSE, chain.input, INT8, 2, 3)
    summed = Tensor("sum", FLOAT, (2, 3))
    chain.nodes.append(Node(Softener(), (chain.input,), (summed,), "soften #1"))
    graph = expose_quantized(chain.graph(summed))
    assert graph.inputs[0].note == "soften #1 reads it"


class Softener(Op):
    """An op that quantize does not commute with."""

    label: ClassVar[str] = "soften"

    def reference(self, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        return (inputs[0] / 2,)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        return ()


def test_unread_inputs_stay_float() -> None:
    chain = Chain()
    constant = Tensor("c", INT8, (1,), np.zeros(1, np.int8))
    graph = expose_quantized(chain.graph(constant))
    assert graph.inputs[0].note == "nothing reads it"


def kept(read: Quantize, written: Quantize, *, shows: bool = False) -> Graph:
    """A buffer that is returned in int8 and then holds the input, both quantised."""
    chain = Chain()
    state, final = (Tensor(name, FLOAT, (2, 3)) for name in ("state", "final"))
    shown = chain.then(read, state, INT8, 2, 3)
    steps = chain.then(written, chain.input, INT8, 2, 3)
    back = Dequantize(written.scale, written.zero_point)
    source = chain.then(View((2, 3)), chain.then(back, steps, FLOAT, 2, 3), FLOAT, 2, 3)
    chain.nodes.append(Node(Store(), (state, source), (final,), "store"))
    graph = chain.graph(shown, *([final] if shows else []))
    initial = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    return replace(graph, states=(MutableBuffer(state, final, initial),))


def test_states_keep_quantised_numbers() -> None:
    graph = kept(FINE, FINE)
    states = quantize_states(graph)
    assert states.states[0].tensor.dtype == states.states[0].initial.dtype == INT8
    random = np.random.default_rng(5)
    runs = [[random.normal(size=(2, 3)).astype(np.float32)] for _ in range(3)]
    for before, after in zip(evaluate_all(graph, runs), evaluate_all(states, runs), strict=True):
        np.testing.assert_array_equal(before.outputs[0], after.outputs[0])


@pytest.mark.parametrize("graph", [kept(FINE, COARSE), kept(FINE, FINE, shows=True)])
def test_other_states_stay(graph: Graph) -> None:
    assert quantize_states(graph).states == graph.states


def test_states_are_kept_as_they_are_written_and_read_in_another_scale() -> None:
    graph = kept(FINE, COARSE)
    assert keep_states_as_written(graph).states == graph.states  # no steps are the initial numbers
    (state,) = graph.states
    graph = replace(graph, states=(replace(state, initial=np.full((2, 3), 1.5, np.float32)),))
    states = keep_states_as_written(graph)
    assert states.states[0].tensor.dtype == INT8
    np.testing.assert_array_equal(states.states[0].initial, 6)
    random = np.random.default_rng(5)
    runs = [[random.normal(size=(2, 3)).astype(np.float32)] for _ in range(3)]
    for before, after in zip(evaluate_all(graph, runs), evaluate_all(states, runs), strict=True):
        np.testing.assert_array_equal(before.outputs[0], after.outputs[0])


def test_states_that_are_shown_stay_as_they_are() -> None:
    graph = kept(FINE, COARSE, shows=True)
    assert keep_states_as_written(graph).states == graph.states
