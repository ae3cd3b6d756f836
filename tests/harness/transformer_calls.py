"""One small call of every int8 operator that transformers consist of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.calls import Given, In, Out


def transformer_calls() -> Mapping[str, tuple[Given, ...]]:
    """Arguments by operator."""
    numbers = (np.arange(48) * 37 % 256 - 128).astype(np.int8)
    x, image = In(numbers[:6].reshape(2, 3)), In(numbers[:24].reshape(2, 4, 3))
    three, four = (
        [In(np.full(size, 1 << bits, np.int32), constant=True) for bits in (24, 10)]
        for size in (3, 4)
    )
    matrices = (
        numbers[:12].reshape(2, 2, 3),
        numbers[:6].reshape(1, 2, 3),
        numbers[:8].reshape(1, 2, 4),
    )
    halves = (1 << 24) >> np.arange(256).clip(max=30)
    logarithm = (In(halves.astype(np.int32), constant=True), 900, 70000, 10, 12)
    attention = (*map(In, matrices), In(np.array([[[True, False]]])), True, 0, 3, -4, 1 << 24, 0)
    return {
        "cmbuild::quantized_layer_norm.out": (x, (1,), None, *three, 9, 8, -3, Out("int8", (2, 3))),
        "cmbuild::quantized_group_norm.out": (image, 2, *four, 9, 8, -3, Out("int8", (2, 4, 3))),
        "cmbuild::quantized_sum.out": (image, (1,), False, 3, -5, 1 << 30, -2, Out("int8", (2, 3))),
        "cmbuild::quantized_log_softmax.out": (image, -1, *logarithm, Out("int8", (2, 4, 3))),
        "cmbuild::quantized_logsumexp.out": (
            image,
            (1,),
            False,
            3,
            *logarithm,
            Out("int8", (2, 3)),
        ),
        "cmbuild::quantized_cumsum.out": (image, 1, 3, -5, 1 << 30, -1, Out("int8", (2, 4, 3))),
        "cmbuild::quantized_masked_softmax.out": (
            *(image, In(np.ones((2, 4, 3), np.bool_)), -1, 1 << 30, 22, -496, 0, 0),
            Out("int8", (2, 4, 3)),
        ),
        "cmbuild::quantized_deviation.out": (
            *(image, (1,), False, None, True, 1 << 30, -2, -5, Out("int8", (2, 3))),
        ),
        "cmbuild::quantized_attention.out": (*attention, 1 << 30, 0, 5, Out("int8", (2, 2, 4))),
    }
