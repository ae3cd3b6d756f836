"""cmbuild::attention, masked_attention and biased_attention for torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.operators.masked_softmax import empty_rows, masked_softmax
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import (
    Computed,
    QuantizedCall,
    Replacement,
    fixed_point,
    quantized_op,
)
from cmcompiler.ops.attention import INT16_MIN, STEPS
from cmcompiler.ops.support.empty_rows import EmptyRows

LIBRARY: Any = torch.library.Library("cmbuild", "FRAGMENT")  # type: ignore[no-untyped-call]

STEP = math.log(2) / STEPS
"""Step of a score, as kernels take masks that are added."""

_MATRICES = "Tensor query, Tensor key, Tensor value"
LIBRARY.define(f"attention({_MATRICES}, Tensor? mask, float scale) -> Tensor")
LIBRARY.define(
    f"masked_attention({_MATRICES}, Tensor mask, float scale, float number, bool is_added, "
    "Tensor? added=None) -> Tensor"
)
LIBRARY.define(f"biased_attention({_MATRICES}, Tensor added, float scale) -> Tensor")
declare(LIBRARY, "quantized_attention")


def _shape(query: Tensor, key: Tensor, value: Tensor, *_: object) -> Tensor:
    return query.new_empty((*query.shape[:2], value.shape[2]))


for _name in ("attention", "masked_attention", "biased_attention", "quantized_attention"):
    torch.library.register_fake(f"cmbuild::{_name}", _shape)


@float_form(LIBRARY, "attention")
def attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float
) -> Tensor:
    """Attention of matrices [batch, rows, depth] with a constant mask, added to the scaled scores.

    Consecutive matrices of queries may share keys and values. The mask has 1 in place of what it
    repeats.
    """
    # Rows that see nothing are zero, as in torch's own attention.
    weights = scores(query, key, mask, scale).softmax(dim=2).nan_to_num(0.0)
    return weights @ repeated(query, value)


@float_form(LIBRARY, "masked_attention")
def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, *further: Any
) -> Tensor:
    """Attention with a mask of bool that is true where a key counts.

    Args:
        further: the scale; a number far below scores, and whether it is added to those of other
            keys or takes their place; a constant to be added to all.
    """
    scale, number, is_added, *rest = further
    unmasked = scores(query, key, rest[0] if rest else None, scale)
    return masked_softmax(unmasked, mask, 2, number, is_added) @ repeated(query, value)


@float_form(LIBRARY, "biased_attention")
def biased_attention(
    query: Tensor, key: Tensor, value: Tensor, added: Tensor, scale: float
) -> Tensor:
    """Attention with a computed tensor that is added to the scaled scores."""
    return attention(query, key, value, added, scale)


def scores(query: Tensor, key: Tensor, added: Tensor | None, scale: float) -> Tensor:
    """Scores of each key for each row of queries."""
    scaled = query @ repeated(query, key).transpose(1, 2) * scale
    return scaled if added is None else scaled + added


def repeated(query: Tensor, shared: Tensor) -> Tensor:
    """Keys or values, once for each matrix of queries."""
    return shared.repeat_interleave(len(query) // len(shared), dim=0)


@quantized_op(torch.ops.cmbuild.attention.default, constants=[3])
def to_quantized_attention(call: QuantizedCall) -> Replacement:
    mask, is_causal = call.constants.get(3), False
    steps = None
    if mask is not None:
        is_causal = _is_causal(mask)
        steps = None if is_causal else _in_steps(mask)
    return _quantized(call, steps, is_causal)


@quantized_op(torch.ops.cmbuild.masked_attention.default, constants=[7])
def to_quantized_masked_attention(call: QuantizedCall) -> Replacement:
    mask: Any = call.arguments[3]
    added = call.constants.get(7)
    if added is not None:
        excluded = torch.full((1,), INT16_MIN, dtype=torch.int16)
        mask = Computed(torch.ops.aten.where.self, (mask, _in_steps(added), excluded))
    number, is_added = call.arguments[5:7]
    assert isinstance(number, float)
    return _quantized(call, mask, False, empty_rows(number, bool(is_added)))


@quantized_op(torch.ops.cmbuild.biased_attention.default, states={3: STEP})
def to_quantized_biased_attention(call: QuantizedCall) -> Replacement:
    # The least of 16 bits, which excludes a key, is less than a score of -354.
    return _quantized(call, call.arguments[3], False)


def _is_causal(mask: Tensor) -> bool:
    _, rows, keys = mask.shape
    triangle = torch.full((rows, keys), -math.inf).triu(1)
    return rows > 1 and bool((mask == triangle).all())


def _in_steps(mask: Tensor) -> Tensor:
    """As int16; what is added to no score remains apart from what only makes it small."""
    mask = mask.double()
    if mask.nan_to_num(neginf=0.0).abs().max() > -INT16_MIN * STEP:
        # Only differences count within a row.
        mask = mask - mask.amax(-1, keepdim=True).nan_to_num(neginf=0.0)
    steps = (mask / STEP).round().clamp(INT16_MIN + 1, -INT16_MIN - 1)
    steps[mask == -math.inf] = INT16_MIN
    return steps.to(torch.int16)


def _quantized(
    call: QuantizedCall, mask: Any, is_causal: bool, rows: EmptyRows = EmptyRows.ZERO
) -> Replacement:
    arguments: Sequence[Any] = call.arguments
    query, key, value, _, scale = arguments[:5]
    factor = call.inputs[0].scale * call.inputs[1].scale * scale * STEPS / math.log(2)
    # Kernels shift to the left only.
    multiplier, shift = fixed_point(factor)
    score = (multiplier, shift) if shift >= 0 else (multiplier >> -shift, 0)
    mean = fixed_point(call.inputs[2].scale / call.output.scale)
    zero_points = (call.inputs[0].zero_point, call.inputs[2].zero_point)
    numbers = (is_causal, int(rows), *zero_points, *score, *mean, call.output.zero_point)
    return torch.ops.cmbuild.quantized_attention.default, (query, key, value, mask, *numbers)
