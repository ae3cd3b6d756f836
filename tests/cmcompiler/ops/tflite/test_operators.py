"""Each operator of TensorFlow Lite computes the bytes of TensorFlow Lite Micro."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from harness.calls import In, Out, calling
from harness.examples import Example
from harness.runtime import Runtime
from harness.tflite_calls import tflite_call, tflite_names
from harness.tflite_maker import TfliteCall
from harness.tflite_narrow import narrow_calls
from harness.tflite_short import short_call, short_names

from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.isa import Isa
from cmcompiler.plan.planner import make_plan
from cmcompiler.tflite.reader import read_tflite

CASES = tuple(tflite_names())
EXPECTED = Path(__file__).parents[3] / "data" / "tflite" / "expected.npz"


@cache
def expected() -> dict[str, npt.NDArray[Any]]:
    return dict(np.load(EXPECTED))


@pytest.mark.parametrize("name", CASES)
def test_an_operator_computes_the_bytes_of_micro(name: str) -> None:
    call = tflite_call(name)
    graph = build_graph(read_tflite(call.data))
    make_plan(graph, Isa.MVE)
    for number, result in enumerate(evaluate_all(graph, call.samples)):
        for index, output in enumerate(result.outputs):
            known = expected()[f"{name}.{number}.{index}"]
            np.testing.assert_array_equal(output, known, f"sample {number}, output {index}")


@cache
def expected_of_int16() -> dict[str, npt.NDArray[Any]]:
    return dict(np.load(EXPECTED.with_name("int16.npz")))


@pytest.mark.parametrize("name", short_names())
def test_an_operator_computes_the_bytes_of_micro_in_int16(name: str) -> None:
    call = short_call(name)
    graph = build_graph(read_tflite(call.data))
    for number, result in enumerate(evaluate_all(graph, call.samples)):
        for index, output in enumerate(result.outputs):
            known = expected_of_int16()[f"{name}.{number}.{index}"]
            np.testing.assert_array_equal(output, known, f"sample {number}, output {index}")


@pytest.mark.parametrize("call", list(narrow_calls()), ids=lambda call: call.name)
def test_a_layer_computes_the_bytes_of_others_in_int4(call: TfliteCall) -> None:
    """Of Micro, and of LiteRT with int16 activations, which Micro does not have."""
    known = np.load(EXPECTED.with_name("int4.npz"))
    graph = build_graph(read_tflite(call.data))
    for number, result in enumerate(evaluate_all(graph, call.samples)):
        np.testing.assert_array_equal(result.outputs[0], known[f"{call.name}.{number}.0"])


def test_kernels_compute_what_the_reference_does(runtime: Runtime) -> None:
    examples = []
    for name in CASES:
        call = tflite_call(name, samples=1)
        graph = build_graph(read_tflite(call.data))
        examples.append(Example(graph, call.samples[0], name))
    for name in short_names():
        call = short_call(name, samples=1)
        graph = build_graph(read_tflite(call.data))
        examples.append(Example(graph, call.samples[0], f"{name} of int16"))
    for call in narrow_calls(samples=1):
        graph = build_graph(read_tflite(call.data))
        examples.append(Example(graph, call.samples[0], f"{call.name} with int4"))
    runtime.check(*examples)


SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-45, 3e38]
EQUAL_TYPES = (
    *(np.array(SPECIAL, dtype) for dtype in ("float32", "float64")),
    *(np.array([-128, -1, 0, 127], dtype) for dtype in ("int8", "int16", "int32", "int64")),
    np.array([0, 255], np.uint8),
    np.array([False, True]),
)


def test_casts_to_the_same_type_are_movements(runtime: Runtime) -> None:
    """Of whatever bits: NaN and infinities stay what they are."""
    examples = [calling("tflite::CAST", In(x), Out(x.dtype, x.shape)) for x in EQUAL_TYPES]
    for example, given in zip(examples, EQUAL_TYPES, strict=True):
        assert [node.op.label for node in example.graph.nodes] == ["view"]
        assert example.reference.outputs[0].tobytes() == given.tobytes()
    runtime.check(*examples)
