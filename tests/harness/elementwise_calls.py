"""One small call of every int8 operator on elements that the backend does not have."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.calls import Given, In, Out


def elementwise_calls() -> Mapping[str, tuple[Given, ...]]:
    """Arguments by operator."""
    numbers = (np.arange(12) * 37 % 256 - 128).astype(np.int8)
    rows, columns = In(numbers[:4].reshape(4, 1)), In(numbers[4:7].reshape(1, 3))
    one, less, out = (1 << 30, 1), (1 << 30, -5), Out("int8", (4, 3))
    total = (1, 1 << 30, -19)
    return {
        "cmbuild::quantized_add.out": (
            *(rows, 3, *one, columns, -5, *one, *total, -128, 127),
            out,
        ),
        "cmbuild::quantized_mul.out": (rows, 3, columns, -5, 1, *less, out),
        "cmbuild::quantized_prelu.out": (
            *(In(numbers.reshape(2, 3, 2)), In(np.array([7, -9, 4], np.int32), constant=True)),
            *(20, 4, 3, -5, Out("int8", (2, 3, 2))),
        ),
        "cmbuild::quantized_div.out": (rows, 3, columns, -5, 1, 2.5, out),
    }
