"""Convolutions, linear layers and matrix products as programs call them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from harness.calls import Given, In, Out, calling
from harness.convolutions import Numbers
from harness.examples import Array, Example

from cmcompiler.errors import CompilerError, InvalidProgram, Unsupported
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.support.requantize import Requantize

NUMBERS = Numbers(1)
CHANNELS_LAST = (0, 2, 3, 1)


def constant(array: Array) -> In:
    return In(array, constant=True)


@dataclass(frozen=True)
class Convolution:
    """A call of an operator for convolutions; shapes are NCHW, weights as in the program."""

    operator: str = "quantized_conv2d"
    images: tuple[int, ...] = (1, 4, 5, 6)
    weights: tuple[int, ...] = (3, 2, 2, 4)
    output: tuple[int, ...] = (1, 3, 4, 5)
    channels: int = 3
    stride: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    dilation: tuple[int, ...] = (1, 1)
    extra: tuple[Given, ...] = ()
    input_offset: int = 3
    output_offset: int = -5
    multiplier: int = 1 << 30
    shift: int = -7
    minimum: int = -128
    bias: bool = True
    order: tuple[int, ...] = CHANNELS_LAST

    @property
    def example(self) -> Example:
        images, output, order = NUMBERS.int8(*self.images), self.output, self.order
        if self.operator.endswith("_nhwc"):
            images, order = images.transpose(CHANNELS_LAST), (0, 1, 2, 3)
            output = tuple(output[axis] for axis in CHANNELS_LAST)
        scratches = 2 if "transpose" in self.operator else 1
        scratch = In(np.zeros(4, np.uint8))
        return calling(
            f"cortex_m::{self.operator}.out",
            In(images, order),
            constant(NUMBERS.int8(*self.weights)),
            constant(NUMBERS.biases(self.channels)) if self.bias else None,
            self.stride,
            self.padding,
            *((0, 0),) * ("transpose" in self.operator),
            self.dilation,
            *self.extra,
            self.input_offset,
            self.output_offset,
            constant(np.full(self.channels, self.multiplier, np.int32)),
            constant(np.full(self.channels, self.shift, np.int32)),
            self.minimum,
            127,
            *(scratch for _ in range(scratches)),
            Out(np.int8, output, order),
        )

    @property
    def result(self) -> Array:
        """The output, NCHW."""
        example = self.example
        images = NUMBERS.int8(*self.images)
        if not self.operator.endswith("_nhwc"):
            return replace(example, inputs=(images, *example.inputs[1:])).reference.outputs[0]
        return example.reference.outputs[0].transpose(0, 3, 1, 2)


CONV = Convolution()
DEPTHWISE = Convolution(
    "quantized_depthwise_conv2d", weights=(1, 2, 2, 4), output=(1, 4, 4, 5), channels=4, extra=(1,)
)
TRANSPOSED = Convolution("quantized_transpose_conv2d", output=(1, 3, 6, 7))


@pytest.mark.parametrize("call", [CONV, DEPTHWISE, TRANSPOSED], ids=lambda call: call.operator)
def test_memory_orders_and_explicit_layout_give_the_same(call: Convolution) -> None:
    expected = call.result
    assert len(np.unique(expected)) > 10
    for order in [(0, 1, 2, 3), (0, 3, 2, 1)]:
        assert np.array_equal(replace(call, order=order).result, expected)
    assert np.array_equal(replace(call, operator=f"{call.operator}_nhwc").result, expected)


def op_of(call: Convolution) -> object:
    (op,) = (node.op for node in call.example.graph.nodes)
    return op


def test_groups_of_one_channel_are_depthwise() -> None:
    call = replace(CONV, weights=(4, 2, 2, 1), output=(1, 4, 4, 5), channels=4)
    op = op_of(call)
    assert isinstance(op, DepthwiseConv2d)
    grouped = Conv2d(
        NUMBERS.int8(4, 2, 2, 1), op.bias, op.window, -3, op.requantize, op.output_shape, groups=4
    )
    images = NUMBERS.int8(*call.images).transpose(0, 2, 3, 1)
    assert np.array_equal(op.reference(images)[0], grouped.reference(images)[0])


def test_several_filters_per_channel_are_side_by_side() -> None:
    call = replace(DEPTHWISE, weights=(1, 2, 2, 12), output=(1, 12, 4, 5), channels=12, extra=(3,))
    op = op_of(call)
    assert isinstance(op, DepthwiseConv2d)
    # The filters of a channel are adjacent: output 7 is the second of channel 2.
    weights, images = NUMBERS.int8(1, 2, 2, 12), NUMBERS.int8(*call.images).astype(np.int64) + 3
    total = (images[0, 2, 1:3, 1:3] * weights[0, :, :, 7]).sum()
    assert op.accumulate(NUMBERS.int8(*call.images).transpose(0, 2, 3, 1))[0, 1, 1, 7] == total


def test_without_bias_it_is_zero() -> None:
    op = op_of(replace(CONV, bias=False))
    assert isinstance(op, Conv2d)
    assert op.bias.tolist() == [0, 0, 0]


def test_a_zero_point_outside_int8_needs_no_padding_to_be_right() -> None:
    op = op_of(replace(CONV, input_offset=771))
    assert isinstance(op, Conv2d)
    assert op.input_zero_point == -771


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (replace(CONV, stride=(0, 1)), Unsupported, "stride = 0 is outside 1..32767"),
        (replace(CONV, dilation=(1, 40000)), Unsupported, "dilation = 40000"),
        (replace(CONV, padding=(1,)), InvalidProgram, "padding has 1 items, not 2"),
        (replace(CONV, weights=(3, 2, 2, 3)), InvalidProgram, "for 4 channels"),
        (replace(CONV, output=(1, 3, 4, 4)), InvalidProgram, r"not int8 \(1, 4, 5, 3\)"),
        (replace(CONV, channels=2), InvalidProgram, "bias has shape"),
        (replace(CONV, multiplier=-1), Unsupported, "multiplier -1"),
        (replace(CONV, shift=32), Unsupported, "shift 32"),
        (replace(CONV, output_offset=40000), Unsupported, "zero point 40000"),
        (replace(CONV, minimum=-129), Unsupported, "activation range"),
        (
            replace(CONV, input_offset=771, padding=(1, 0), output=(1, 3, 6, 5)),
            Unsupported,
            "no int8 value represents zero, for padding",
        ),
        (replace(DEPTHWISE, extra=(2,)), InvalidProgram, "for 4 channels"),
        (replace(TRANSPOSED, weights=(3, 2, 2, 2)), Unsupported, "for 4 channels"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_no_kernel_can_take_is_refused(
    call: Convolution, error: type[CompilerError], message: str
) -> None:
    with pytest.raises(error, match=message):
        _ = call.example


def linear(weights: Array, *, offset: int = 0, kernel_sum: Array | None = None) -> Example:
    count = len(weights)
    bias = None if kernel_sum is not None else constant(NUMBERS.biases(count))
    return calling(
        "cortex_m::quantized_linear.out",
        In(NUMBERS.int8(2, 3, weights.shape[1])),
        constant(weights),
        bias,
        None if kernel_sum is None else constant(kernel_sum),
        7,
        offset,
        -3,
        (1 << 30,),
        (-7,),
        100,
        -90,
        Out(np.int8, (2, 3, count)),
    )


def linear_op(example: Example) -> Linear:
    (op,) = (node.op for node in example.graph.nodes)
    assert isinstance(op, Linear)
    return op


def test_linear_activation_bounds_come_maximum_first() -> None:
    op = linear_op(linear(NUMBERS.int8(4, 5)))
    assert (op.requantize.range.minimum, op.requantize.range.maximum) == (-90, 100)
    assert op.rows == 6


def test_kernel_sums_stand_for_bias_and_input_offset() -> None:
    weights = NUMBERS.int8(4, 5)
    op = linear_op(linear(weights))
    sums = weights.astype(np.int64).sum(axis=1) * 7 + NUMBERS.biases(4)
    assert op.bias.tolist() == sums.tolist()
    given = linear_op(linear(weights, kernel_sum=sums.astype(np.int32).reshape(1, 4)))
    assert given.bias.tolist() == sums.tolist()


def test_weights_less_their_zero_point_must_fit_int8() -> None:
    weights = np.array([[-100, 20], [30, 100]], np.int8)
    assert linear_op(linear(weights, offset=27)).weights.tolist() == [[-73, 47], [57, 127]]
    with pytest.raises(Unsupported, match="do not fit int8"):
        linear(weights, offset=28)


def test_a_matrix_product_takes_negated_zero_points() -> None:
    lhs, rhs = NUMBERS.int8(2, 3, 4), NUMBERS.int8(2, 5, 4)
    example = calling(
        "cortex_m::quantized_batch_matmul.out",
        In(lhs),
        3,
        In(rhs),
        -4,
        7,
        1 << 30,
        -5,
        In(np.zeros(4, np.uint8)),
        Out(np.int8, (2, 3, 5)),
    )
    sums = (lhs.astype(np.int64) + 3) @ (rhs.astype(np.int64) - 4).transpose(0, 2, 1)
    requantize = Requantize.checked([1 << 30], [-5], 1, zero_point=7, minimum=-128, maximum=127)
    assert np.array_equal(
        replace(example, inputs=(lhs, rhs, *example.inputs[2:])).reference.outputs[0],
        requantize(sums[..., np.newaxis])[..., 0],
    )
