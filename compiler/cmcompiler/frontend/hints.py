"""What would quantise an operator that stayed in float."""

from __future__ import annotations

UNSUPPORTED = "the backend has no int8 kernel for it"

_OWN = "give it an int8 form of your own with quantized_op: docs/adding-an-op.md"

_HINTS = {
    "conv": "a convolution with constant weights and a number of groups that divides the channels",
    "linear": "linear with constant weights",
    "matmul": "linear, where one of the factors is constant",
    "bmm": "linear, where one of the factors is constant",
    "einsum": "linear or a 1×1 convolution, where one of the factors is constant",
    "pow": "a product of the number with itself, or an activation function that has a table",
    "where": "a number near the range of the other elements",
    "masked_fill": "a number near the range of the other elements",
    "interpolate": "upsampling by whole factors",
    "grid_sampler": "a transposed convolution",
    "fft": "a linear layer whose weights are the transform",
    "stft": "a convolution whose weights are the transform, or features computed before the model",
    "complex": "real numbers",
}
"""By the beginning of the operator's name, without namespace."""


def hint(operator: str) -> str:
    """What to write instead, or how to add what is missing; one line without a full stop.

    Args:
        operator: `conv1d` or `aten::convolution.out`.
    """
    name = operator.rpartition("::")[2].lstrip("_")
    return next((text for start, text in _HINTS.items() if name.startswith(start)), _OWN)
