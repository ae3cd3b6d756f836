"""Windows of TensorFlow Lite's convolutions and pools."""

from __future__ import annotations

from enum import IntEnum

from cmcompiler.decode.call import Call
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.support.convolution import LARGEST
from cmcompiler.ops.support.window import Pair, Window


class Padding(IntEnum):
    """By its code in the file."""

    SAME = 0
    VALID = 1


def read_window(
    call: Call, kernel: Pair, images: Tensor, output: Tensor, *, dilated: bool = False
) -> Window:
    """The window that makes an output [N, H, W, C] of images.

    Of an odd number of rows or columns outside of the image, SAME has the larger half at the end.

    Args:
        dilated: the operator has a dilation.
    """
    stride = _pair(call, "stride")
    dilation = _pair(call, "dilation") if dilated else (1, 1)
    padding = call.integer("padding", Padding.SAME, Padding.VALID)
    window = Window(kernel, stride, (0, 0), dilation)
    before, sizes = [], []
    for axis in (0, 1):
        length, reach = images.shape[axis + 1], window.reach[axis]
        size = -(-(length if padding == Padding.SAME else length - reach + 1) // stride[axis])
        sizes.append(size)
        before.append(max((size - 1) * stride[axis] + reach - length, 0) // 2)
    if tuple(output.shape[1:3]) != tuple(sizes) or min(sizes) < 1:
        call.invalid(f"the output has {output.shape[1:3]} pixels, not {tuple(sizes)}")
    if max(*before, *window.reach) > LARGEST:
        call.unsupported(f"a window of {window.reach[0]}×{window.reach[1]}")
    return Window(kernel, stride, (before[0], before[1]), dilation)


def _pair(call: Call, name: str) -> Pair:
    return call.integer(f"{name}_h", 1, LARGEST), call.integer(f"{name}_w", 1, LARGEST)
