"""Each operator beside LiteRT's reference kernels: `pip install 'cmbuild[litert]'` for this."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from harness.tflite_calls import tflite_call, tflite_names

from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.tflite.reader import read_tflite

SAMPLES = 20

ONE_STEP_APART = ("fully_connected",)
"""Operators of which 1 % of the outputs may differ by a step."""

NOT_THERE = {
    "function_elu": "its reference kernels lack ELU",
    "broadcast_to": "its reference kernels lack BROADCAST_TO",
    "place_largest": "wants the type of places in the options, too",
    "place_smallest": "wants the type of places in the options, too",
    "conv_2d_no_bias": "wants a bias",
    "svdf_plain": "wants ReLU",
    "split": "wants the number of parts in the options, too",
    "split_v": "wants the number of parts in the options, too",
    "reduction_sum": "sums without regard to the scales",
    "reduction_sum_image": "sums without regard to the scales",
    "unidirectional_sequence_lstm": "wants intermediate tensors",
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
    graph = build_graph(read_tflite(call.data))
    own = [result.outputs for result in evaluate_all(graph, call.samples, reset=True)]
    model = interpreter.Interpreter(
        model_content=call.data,
        experimental_op_resolver_type=interpreter.OpResolverType.BUILTIN_REF,
    )
    model.allocate_tensors()
    pairs = zip(call.samples, own, strict=True)
    steps = np.concatenate([_differences(model, *pair) for pair in pairs])
    is_apart = name.startswith(ONE_STEP_APART)
    assert steps.max(initial=0) <= int(is_apart)
    assert np.count_nonzero(steps) <= 0.01 * steps.size


def _differences(model: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> Any:
    """In steps of the outputs."""
    model.reset_all_variables()
    for detail, array in zip(model.get_input_details(), inputs, strict=True):
        model.set_tensor(detail["index"], array)
    model.invoke()
    return np.concatenate(
        [
            np.abs(model.get_tensor(detail["index"]).astype(np.float64) - own).ravel()
            for detail, own in zip(model.get_output_details(), outputs, strict=True)
        ]
    )
