"""Weights of layers read from `.tflite` files, in PyTorch's order."""

from __future__ import annotations

import numpy as np
import pytest
from harness.tflite_maker import NONE, SAME, Maker

from cmcompiler.errors import InvalidProgram
from cmcompiler.tflite.weights import layer_weights


def test_quantised_weights_become_real_numbers_in_torchs_order() -> None:
    make = Maker("weights")
    filters, scales = make.int8(4, 3, 2, 5), [0.5, 0.25, 2.0, 1.0]
    bias = make.int32(4)
    operands = (
        make.source((1, 6, 6, 5)),
        make.file.constant(filters, scale=scales),
        make.file.constant(bias, scale=[0.1, 0.2, 0.3, 0.4]),
    )
    options = {"padding": SAME, "stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1}
    make.file.operator(
        "CONV_2D", operands, (make.result((1, 6, 6, 4)),), activation=NONE, **options
    )
    (layer,) = layer_weights(make.made("weights", 1).data)
    real = filters * np.array(scales).reshape(4, 1, 1, 1)
    np.testing.assert_array_equal(layer.weights, real.transpose(0, 3, 1, 2).astype(np.float32))
    np.testing.assert_allclose(layer.bias, bias * np.array([0.1, 0.2, 0.3, 0.4]), rtol=1e-6)


@pytest.mark.parametrize("data", [b"", b"nothing of the kind", bytes(4) + b"TFL3" + bytes(8)])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidProgram):
        layer_weights(data)
