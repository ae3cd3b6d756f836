"""Whether programs for ExecuTorch's own kernels were made for the core."""

from __future__ import annotations

import numpy as np
import pytest
from harness.programs import program_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.errors import Unsupported
from cmcompiler.executorch.isa_check import _avg_pool2d, _conv2d, _depthwise, check_isa
from cmcompiler.isa import Isa
from cmcompiler.pte.methods import find_method
from cmcompiler.pte.program import TensorValue
from cmcompiler.pte.reader import read_program

ISAS = [Isa.SCALAR, Isa.DSP, Isa.MVE]


def tensor(*sizes: int) -> TensorValue:
    return TensorValue(np.dtype(np.int8), sizes, tuple(range(len(sizes))))


@settings(max_examples=400)
@given(data=st.data(), isa=st.sampled_from(ISAS))
def test_scratch_is_what_cmsis_nn_itself_asks_for(data, isa):
    from executorch.backends.cortex_m.library import cmsis_nn

    backend = getattr(cmsis_nn.Backend, isa.name)
    few, some = st.integers(1, 3), st.integers(1, 20)
    kernel, stride, dilation = ([data.draw(few), data.draw(few)] for _ in range(3))
    padding = [data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))]
    batch, columns, channels, filters, outputs = (data.draw(some) for _ in range(5))
    rows = data.draw(st.just(1) | some)  # another Helium kernel handles single rows
    multiplier = data.draw(st.sampled_from([1, 1, 2]))
    common = {
        "input_nhwc": [batch, rows, columns, channels],
        "padding_hw": padding,
        "stride_hw": stride,
        "dilation_hw": dilation,
        "input_offset": 1,
        "output_offset": 2,
        "activation_min": -128,
        "activation_max": 127,
    }
    arguments = {
        "input": tensor(batch, rows, columns, channels),
        "stride": tuple(stride),
        "padding": tuple(padding),
        "dilation": tuple(dilation),
        "depth_multiplier": multiplier,
    }
    asked = cmsis_nn.convolve_wrapper_buffer_size(
        backend,
        cmsis_nn.DataType.A8W8,
        filter_nhwc=[filters, *kernel, channels],
        output_nhwc=[batch, rows, outputs, filters],
        **common,
    )
    convolution = {
        **arguments,
        "weight": tensor(filters, *kernel, channels),
        "out": tensor(batch, rows, outputs, filters),
    }
    assert _conv2d(convolution, True, isa) == asked

    asked = cmsis_nn.depthwise_conv_wrapper_buffer_size(
        backend,
        cmsis_nn.DataType.A8W8,
        filter_nhwc=[channels * multiplier, *kernel, 1],
        output_nhwc=[batch, rows, columns, channels * multiplier],
        ch_mult=multiplier,
        **common,
    )
    weight = tensor(1, *kernel, channels * multiplier)
    needed = _depthwise({**arguments, "weight": weight}, True, isa)
    assert needed == asked or (needed == 0 and multiplier != 1)

    asked = cmsis_nn.avgpool_buffer_size(
        backend, cmsis_nn.DataType.A8W8, dim_dst_width=columns, ch_src=channels
    )
    assert _avg_pool2d(arguments, True, isa) == asked


def test_a_program_for_helium_is_for_helium_only():
    method = find_method(read_program(program_bytes("network")), "forward")
    check_isa(method, Isa.MVE)
    with pytest.raises(Unsupported, match=r"quantized_avg_pool2d.out #2: its scratch has 0 bytes"):
        check_isa(method, Isa.DSP)
    with pytest.raises(Unsupported, match=r"quantized_linear.out #3: it has a kernel_sum, scalar"):
        check_isa(method, Isa.SCALAR)
