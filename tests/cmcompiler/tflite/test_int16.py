"""Layers of an audio network with int16 activations compute the bytes of TensorFlow Lite Micro."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from harness.examples import Example
from harness.runtime import Runtime
from harness.tflite_short import short_call
from harness.tflite_truth import folder

from cmcompiler.importer.build import build_graph
from cmcompiler.importer.programs import parse
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.ops.short_softmax import reciprocals
from cmcompiler.tflite.reader import read_tflite


@cache
def example(path: Path) -> Example:
    arrays = np.load(path.with_suffix(".npz"))
    graph = build_graph(parse(path.read_bytes(), path.suffix))
    inputs = [arrays[f"input{i}"].reshape(port.shape) for i, port in enumerate(graph.inputs)]
    return Example(graph, tuple(inputs), path.stem)


def paths() -> list[Path]:
    return sorted((folder() / "int16").glob("*.tflite"))


def test_the_reference_computes_the_bytes_of_micro() -> None:
    assert paths()
    for path in paths():
        (output,) = example(path).reference.outputs
        np.testing.assert_array_equal(
            output.ravel(), np.load(path.with_suffix(".npz"))["golden"], path.stem
        )


def test_kernels_compute_what_the_reference_does(runtime: Runtime) -> None:
    runtime.check(*map(example, paths()))


def test_reciprocals_are_rounded_in_float32() -> None:
    """As in Micro's table for softmax; in double precision these two are a step off."""
    assert (reciprocals()[160], reciprocals()[294]) == (24966, 20816)


def test_extremes_are_the_numbers_as_they_are() -> None:
    """Micro has none of int16, LiteRT has."""
    call = short_call("reduction_largest_apart")
    graph = build_graph(read_tflite(call.data))
    for result, (x,) in zip(evaluate_all(graph, call.samples), call.samples, strict=True):
        np.testing.assert_array_equal(result.outputs[0], x.max((1, 3)))
