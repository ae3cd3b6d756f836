"""Products whose sums exceed 24 bits, which the DSP extension cannot make of pairs of bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from harness.examples import Example, single
from harness.runtime import Runtime

from cmcompiler.ir.op import Packed
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window

Int8s = npt.NDArray[np.int8]


def examples() -> Iterator[Example]:
    random = np.random.default_rng(24)

    def aligned(*shape: int) -> Int8s:
        """Mostly what makes the sums large."""
        return np.where(random.random(shape) < 0.9, 127, random.integers(-128, 128, shape)).astype(
            np.int8
        )

    def weights(count: int, *shape: int) -> Int8s:
        signs = random.choice((-1, 1), (count, *(1 for _ in shape)))
        return (signs * aligned(count, *shape).clip(-127)).astype(np.int8)

    def grouped(count: int, *shape: int) -> Int8s:
        """Weights of four bits times 18."""
        signs = random.choice((-1, 1), (count, *(1 for _ in shape)))
        return (18 * signs * random.integers(6, 8, (count, *shape))).astype(np.int8)

    def scale(count: int, shift: int = -17, low: int = -128) -> Requantize:
        numbers = random.integers(1 << 30, (1 << 31) - 1, count).tolist()
        return Requantize.checked(
            *(numbers, [shift] * count, count), zero_point=low, minimum=low, maximum=127
        )

    def conv(values: Int8s, requantize: Requantize, width: int = 8, groups: int = 1) -> Example:
        count, kernel, _, depth = values.shape
        window = Window((kernel,) * 2, padding=(kernel // 2,) * 2)
        op = Conv2d(
            *(values, random.integers(-1 << 20, 1 << 20, count).astype(np.int32), window, 3),
            *(requantize, (1, 2, width, count), groups),
        )
        return single(op, aligned(1, 2, width, depth * groups))

    def linear(values: Int8s, requantize: Requantize, rows: int) -> Example:
        bias = random.integers(-1 << 20, 1 << 20, len(values)).astype(np.int32)
        return single(Linear(values, bias, requantize, rows), aligned(rows, values.shape[1]))

    yield conv(weights(5, 3, 3, 256), scale(5, -18))
    yield conv(weights(4, 3, 3, 64), scale(4, low=-100))
    yield conv(weights(3, 3, 3, 60), scale(3), width=7)
    yield conv(weights(6, 1, 1, 577), scale(6))
    yield linear(weights(7, 523), scale(7), 7)
    yield linear(weights(7, 523), scale(7, -1), 5)
    yield conv(weights(5, 1, 1, 521), scale(5, 1))
    yield conv(weights(5, 3, 3, 61), scale(5, low=-90))
    yield linear(grouped(6, 640), scale(6), 6)
    yield conv(grouped(4, 3, 3, 64), scale(4))
    yield linear(grouped(5, 640), scale(5, -1), 3)
    yield conv(grouped(4, 1, 1, 640), scale(4, low=-90))
    # The second group's sums alone are large.
    both = np.concatenate([weights(2, 3, 3, 60) // np.int8(4), weights(2, 3, 3, 60)])
    yield conv(both, scale(4), groups=2)


def test_products_of_large_sums(runtime: Runtime) -> None:
    runtime.check(*examples())


def test_products_of_large_sums_on_a_cortex_m7(cortex_m7: Runtime) -> None:
    cortex_m7.check(*examples())


def test_their_weights_take_a_byte_or_four_bits() -> None:
    kernels = set()
    for example in examples():
        (node,) = example.graph.nodes
        (call,) = node.op.kernel_calls(node.inputs, node.outputs, Isa.DSP)
        (packed,) = (word for _, word in call.arguments if isinstance(word, Packed))
        kernels.add(call.kernel)
        channels, rest = node.op.weights.shape[0], node.op.weights[0].size
        is_grouped = "_g4" in call.kernel
        most = 0.55 if is_grouped else 1
        # With what the sums of two channels begin with and their rescaling, for even numbers.
        assert len(packed.data) <= (channels + channels % 2) * (most * (rest + 4) + 16) + 50
    products = ("implicit_conv2d", "conv2d", "pixel_conv2d", "linear")
    assert kernels >= {f"{name}_apart" for name in products}
    assert kernels >= {f"{name}_g4_apart" for name in ("conv2d", "linear")}
    assert {"linear_g4_apart_general", "implicit_conv2d_apart_clamped"} < kernels
    assert all("_apart" in kernel for kernel in kernels)
