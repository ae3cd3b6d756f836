"""Trained programs compute the bytes of TensorFlow Lite Micro with CMSIS-NN."""

from __future__ import annotations

import numpy as np
import pytest
from harness.tflite_truth import NAMES, truth

from cmcompiler.importer.build import build_graph
from cmcompiler.importer.programs import parse
from cmcompiler.ir.reference import evaluate_all

SLOW = {"resnet8": 2, "vww": 2}
"""How many samples of these are enough."""


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_computes_the_bytes_of_micro(name: str) -> None:
    known = truth(name)
    graph = build_graph(parse(known.path.read_bytes(), known.path.suffix))
    (port,) = graph.inputs
    samples = [[x.reshape(port.shape)] for x in known.inputs[: SLOW.get(name)]]
    actual = [result.outputs[0].ravel() for result in evaluate_all(graph, samples)]
    assert known.outputs
    for outputs in known.outputs.values():
        np.testing.assert_array_equal(actual, outputs[: len(samples)])
