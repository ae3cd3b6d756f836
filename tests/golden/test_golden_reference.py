"""The references equal the outputs of ExecuTorch's own runtime, to the bit, on the golden set."""

from __future__ import annotations

import numpy as np
import pytest
from harness.golden import Golden, golden

from cmcompiler.decode.registry import operators
from cmcompiler.errors import Unsupported
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Port
from cmcompiler.ir.reference import Array, evaluate
from cmcompiler.pte.reader import read_program

AVERAGES = {"cortex_m::quantized_avg_pool2d.out", "cortex_m::quantized_avg_pool2d_nhwc.out"}

TOLERANCE = 1e-5
"""Relative, of transcendental float arithmetic."""


def test_known_programs_give_the_right_outputs() -> None:
    known = [case for case in golden() if case.is_known]
    differences = [difference for case in known for difference in differences_of(case)]
    assert not differences, "\n".join(differences)


def test_other_programs_are_refused_for_the_operators_that_are_missing() -> None:
    for case in golden():
        if not case.is_known:
            with pytest.raises(Unsupported) as error:
                build_graph(read_program(case.data))
            missing = case.operators - operators().keys()
            # Dynamic shapes are seen first.
            assert "not supported" in error.value.message or all(
                name in error.value.message for name in missing
            ), case.name


def differences_of(case: Golden) -> list[str]:
    graph = build_graph(read_program(case.data))
    # What the device does not run, only ExecuTorch's Python did: it averages in float and rounds
    # halves to even, where the device's arithmetic, the truth, does neither.
    exact = all(node.op.exact for node in graph.nodes)
    exact = exact and not (case.failed and case.operators & AVERAGES)
    collected = []
    for sample in case.samples:
        outputs = evaluate(graph, sample.inputs).outputs
        if not sample.outputs:
            continue
        for port, ours, expected, also in zip(
            graph.outputs, outputs, sample.outputs, sample.also, strict=True
        ):
            assert (ours.shape, ours.dtype) == (expected.shape, expected.dtype), case.name
            right = np.where(ours == also, also, expected)
            if not (equal(ours, right) if exact else close(port, ours, right)):
                wrong = np.count_nonzero(ours != right)
                label = f"{case.name}, {sample.kind} inputs"
                collected.append(f"{label}: {wrong} of {ours.size} of {port.name} differ")
    return collected


def equal(ours: Array, right: Array) -> bool:
    return np.array_equal(ours, right, equal_nan=right.dtype.kind == "f")


def close(port: Port, ours: Array, right: Array) -> bool:
    """Within 1e-5, or one step of what is quantised."""
    if right.dtype.kind != "f":
        return bool(np.all(np.abs(ours.astype(np.int64) - right) <= 1))
    step = 0.0 if port.quantization is None else port.quantization.scale
    return np.allclose(ours, right, TOLERANCE, step, equal_nan=True)
