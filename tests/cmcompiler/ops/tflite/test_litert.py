"""Each operator beside LiteRT's reference kernels: `pip install 'cmbuild[litert]'` for this."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.tflite_calls import tflite_call, tflite_names
from harness.tflite_maker import TfliteCall

from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.tflite.reader import read_tflite

SAMPLES = 20

APART = {"fully_connected": (0.01, 1), "unidirectional_sequence_lstm": (0.05, 2)}
"""The share of the outputs of operators that may differ, and by how many steps."""

OPTIMISED = ("function_elu",)
"""Operators that the reference kernels lack."""

NOT_THERE = {
    "broadcast_to": "wants another version",
    "conv_2d_no_bias": "wants a bias",
    "svdf_plain": "wants ReLU",
    "svdf_narrow": "takes all weights over time as int16",
    "reduction_sum": "sums without regard to the scales",
}
"""Programs that LiteRT refuses or computes otherwise, by the beginning of their names."""


@pytest.mark.long
@pytest.mark.parametrize("name", tflite_names())
def test_an_operator_is_that_of_litert(name: str) -> None:
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    reason = next((why for key, why in NOT_THERE.items() if name.startswith(key)), None)
    if reason is not None:
        pytest.skip(f"LiteRT {reason}")
    call = tflite_call(name, SAMPLES)
    share, most = next((known for key, known in APART.items() if name.startswith(key)), (0.0, 0))
    for reset in (True, False):
        steps = _steps(interpreter, name, call, reset)
        assert steps.max(initial=0) <= most
        assert np.count_nonzero(steps) <= share * steps.size


def _steps(interpreter: Any, name: str, call: TfliteCall, reset: bool) -> Any:
    """By how many steps the outputs of all samples differ."""
    graph = build_graph(read_tflite(call.data, keep_state=not reset))
    own = [result.outputs for result in evaluate_all(graph, call.samples, reset=reset)]
    kinds = interpreter.OpResolverType
    kind = kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES if name in OPTIMISED else kinds.BUILTIN_REF
    model = interpreter.Interpreter(model_content=call.data, experimental_op_resolver_type=kind)
    model.allocate_tensors()
    model.reset_all_variables()
    steps = []
    for inputs, outputs in zip(call.samples, own, strict=True):
        if reset:
            model.reset_all_variables()
        steps.append(_differences(model, inputs, outputs))
    return np.concatenate(steps)


def _differences(model: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> Any:
    """In steps of the outputs."""
    for detail, array in zip(model.get_input_details(), inputs, strict=True):
        model.set_tensor(detail["index"], array)
    model.invoke()
    return np.concatenate(
        [
            np.abs(model.get_tensor(detail["index"]).astype(np.float64) - own).ravel()
            for detail, own in zip(model.get_output_details(), outputs, strict=True)
        ]
    )
