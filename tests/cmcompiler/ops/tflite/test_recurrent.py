"""LSTMs of `.tflite` files: each run from zero, or from where the run before ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from harness.examples import Example
from harness.runtime import Runtime
from harness.tflite_layer_calls import unidirectional_sequence_lstm
from harness.tflite_maker import Array, Maker
from harness.tflite_short import ShortMaker

from cmcompiler.errors import Unsupported
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.tflite.reader import read_tflite

ORDERS = pytest.mark.parametrize("time_major", [False, True])
TYPES = pytest.mark.parametrize("maker", [Maker, ShortMaker])


def lstm(time_major: bool, steps: int, maker: type[Maker] = Maker) -> bytes:
    """A layer whose weights do not depend on the number of steps."""
    make = maker("lstm")
    unidirectional_sequence_lstm(make, time_major=time_major, steps=steps)
    return make.file.write(make.inputs, make.outputs)


def outputs(graph: Graph, samples: Sequence[Array], *, reset: bool = False) -> list[Array]:
    every = evaluate_all(graph, [(sample,) for sample in samples], reset=reset)
    return [result.outputs[0] for result in every]


def sequence(time_major: bool, maker: type[Maker] = Maker) -> Array:
    shape = (10, 1, 6) if time_major else (2, 10, 6)
    limits = np.iinfo(np.int16 if maker is ShortMaker else np.int8)
    numbers = np.random.default_rng(5).integers(limits.min, limits.max + 1, shape)
    return numbers.astype(limits.dtype)


@TYPES
@ORDERS
def test_kept_runs_are_one_sequence(time_major: bool, maker: type[Maker]) -> None:
    axis, whole = int(not time_major), sequence(time_major, maker)
    halves = np.split(whole, 2, axis)
    (expected,) = outputs(build_graph(read_tflite(lstm(time_major, 10, maker))), [whole])
    kept = build_graph(read_tflite(lstm(time_major, 5, maker), keep_state=True))
    np.testing.assert_array_equal(np.concatenate(outputs(kept, halves), axis), expected)


@ORDERS
def test_reset_runs_are_those_of_micro(time_major: bool) -> None:
    halves = np.split(sequence(time_major), 2, int(not time_major))
    data = lstm(time_major, 5)
    fresh, kept = (build_graph(read_tflite(data, keep_state=keep)) for keep in (False, True))
    assert not fresh.states
    np.testing.assert_array_equal(outputs(kept, halves, reset=True), outputs(fresh, halves))


def test_kernels_continue_as_the_reference_does(runtime: Runtime) -> None:
    examples = []
    for time_major, maker in product((False, True), (Maker, ShortMaker)):
        graph = build_graph(read_tflite(lstm(time_major, 5, maker), keep_state=True))
        random = np.random.default_rng(7)
        states = tuple(
            replace(state, initial=random.integers(-128, 128, state.initial.shape).astype(dtype))
            for state in graph.states
            for dtype in [state.initial.dtype]
        )
        sample = np.split(sequence(time_major, maker), 2, int(not time_major))[0]
        name = f"{time_major=} {maker.__name__}"
        examples.append(Example(replace(graph, states=states), (sample,), name))
    runtime.check(*examples)


@pytest.mark.parametrize("keep_state", [False, True])
def test_a_state_from_outside_is_refused(keep_state: bool) -> None:
    make = Maker("lstm")
    unidirectional_sequence_lstm(make)
    hidden = make.outputs[0] - 2  # then the cells, then the output
    data = make.file.write([*make.inputs, hidden], make.outputs)
    with pytest.raises(Unsupported, match="LSTM #0: hidden is not a variable of its own"):
        build_graph(read_tflite(data, keep_state=keep_state))
