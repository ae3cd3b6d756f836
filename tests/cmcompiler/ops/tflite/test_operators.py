"""Each operator of TensorFlow Lite computes the bytes of TensorFlow Lite Micro."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from harness.examples import Example
from harness.runtime import Runtime
from harness.tflite_calls import tflite_call, tflite_names

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


def test_kernels_compute_what_the_reference_does(runtime: Runtime) -> None:
    examples = []
    for name in CASES:
        call = tflite_call(name, samples=1)
        graph = build_graph(read_tflite(call.data))
        examples.append(Example(graph, call.samples[0], name))
    runtime.check(*examples)
