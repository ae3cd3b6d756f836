"""cmbuild::svdf for torch: one step of a filter over time, of features that are kept.

The state holds the features of the last runs: [1, features, time], or [1, time, features] with
time_first. A step appends those of its input x [1, numbers] and drops the oldest. An output is the
sum of its `rank` features at all times with their weights [features, time], its bias, and ReLU.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.operators.recurrent import pack_rows
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import (
    QuantizedCall,
    Replacement,
    SameAs,
    fixed_point,
    quantized_op,
)

LIBRARY: Any = torch.library.Library("cmbuild", "FRAGMENT")  # type: ignore[no-untyped-call]
ops: Any = torch.ops.cmbuild

INT16_MAX = 2**15 - 1
INT32_MAX = 2**31 - 1

_LAYER = (
    "Tensor x, Tensor state, Tensor feature_weight, Tensor? feature_bias, Tensor time_weight, "
    "Tensor bias, bool rectify, bool time_first"
)
for _name in ("svdf", "short_svdf"):
    LIBRARY.define(f"{_name}({_LAYER}) -> (Tensor, Tensor)")
declare(LIBRARY, "quantized_svdf")


@float_form(LIBRARY, "short_svdf")
@float_form(LIBRARY, "svdf")
def svdf(x: Tensor, state: Tensor, *layer: Any) -> tuple[Tensor, Tensor]:
    feature_weight, feature_bias, time_weight, bias, rectify, time_first = layer
    features, time = torch.nn.functional.linear(x, feature_weight, feature_bias), 2 - time_first
    kept = state.narrow(time, 1, state.shape[time] - 1)
    final = torch.cat([kept, features.unsqueeze(time)], time)
    history = final.transpose(1, 2) if time_first else final
    summed = (history * time_weight).sum(2).reshape(len(bias), -1).sum(1) + bias
    return (summed.relu() if rectify else summed).unsqueeze(0), final


def _like(bias: int, x: Tensor, state: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
    """Empty results, where the bias has this position among the others."""
    return x.new_empty((1, len(others[bias]))), torch.empty_like(state)


for _name in ("svdf", "short_svdf"):
    torch.library.register_fake(f"cmbuild::{_name}", partial(_like, 3))
torch.library.register_fake("cmbuild::quantized_svdf", partial(_like, 4))


def to_quantized_svdf(call: QuantizedCall) -> Replacement:
    x, state, *_, rectify, time_first = call.arguments
    feature_weight, time_weight, bias = (call.constants[position] for position in (2, 4, 5))
    state_scale, output = call.inputs[1].scale, call.output
    features = pack_rows(feature_weight, call.constants.get(3), call.inputs[0], 1 / state_scale)
    time_weight, bias = time_weight.double(), bias.double()
    scale = _time_scale(time_weight, bias / state_scale)
    arguments = (
        *(x, state, *features),
        (time_weight / scale).round().to(torch.int16),
        (bias / (state_scale * scale)).round().to(torch.int32),
        *(*fixed_point(state_scale * scale / output.scale), output.zero_point),
        *(rectify, time_first),
    )
    return ops.quantized_svdf.default, arguments


for _operator, _is_short in ((ops.svdf.default, False), (ops.short_svdf.default, True)):
    quantized_op(
        _operator,
        constants=range(2, 6),
        states={1: None},
        final=SameAs(1),
        rows=[2],
        is_short=_is_short,
    )(to_quantized_svdf)


def _time_scale(weight: Tensor, bias: Tensor) -> float:
    """Scale of weights, so that they take 16 bits and no output's sum more than 32.

    Args:
        weight: [features, time].
        bias: [outputs], in steps of the state.
    """
    own = weight.abs().reshape(len(bias), -1)
    # Rounding adds up to half a step to each weight.
    most = INT32_MAX - 2**14 * (own.shape[1] + 1)
    scale = max(
        (own.amax() / INT16_MAX).item(), ((own.sum(1) * 2**15 + bias.abs()).amax() / most).item()
    )
    return scale or 1.0
