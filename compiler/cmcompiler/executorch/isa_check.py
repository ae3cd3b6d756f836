"""Checks that a program was made for an instruction set, as ExecuTorch's kernels require.

CMSIS-NN's kernels take scratch memory whose size depends on the instruction set, and on Helium a
linear layer's bias in another form. The export bakes both into the program without recording the
target. The sizes are those of CMSIS-NN's arm_*_get_buffer_size functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import fmod, prod

from cmcompiler.decode.registry import operators
from cmcompiler.errors import Unsupported
from cmcompiler.isa import Isa
from cmcompiler.pte.program import KernelInstruction, Method, TensorValue, Value

Arguments = Mapping[str, Value]

# Channels that the depthwise kernels for Helium process at once: CH_IN_BLOCK_MVE in CMSIS-NN.
_BLOCK = 124


def check_isa(method: Method, isa: Isa) -> None:
    """Refuses a program made for another instruction set.

    Raises:
        Unsupported: names the instruction that a core with `isa` could not run.
    """
    for number, call in enumerate(method.instructions):
        if not isinstance(call, KernelInstruction) or call.operator not in operators():
            continue
        names = [name for _, name in operators()[call.operator].schema.parameters]
        indices = zip(names, call.arguments, strict=False)
        arguments = {name: method.values[index] for name, index in indices}
        if reason := _unsuited(call.operator, arguments, isa):
            raise Unsupported(
                f"{call.operator} #{number}: {reason}: the program was exported for another core",
                "export it for this core; the static executor runs either",
            )


def _unsuited(operator: str, arguments: Arguments, isa: Isa) -> str | None:
    """Why the instruction does not run on a core with `isa`, or None."""
    stem = operator.partition("::")[2].partition(".")[0]
    if stem == "quantized_linear" and "kernel_sum" in arguments:
        has_sum = arguments["kernel_sum"] is not None
        if has_sum != (isa is Isa.MVE):
            return f"it has {'a' if has_sum else 'no'} kernel_sum, {isa.label} needs " + (
                "one" if isa is Isa.MVE else "none"
            )
    needed = _SCRATCH.get(stem.removesuffix("_nhwc"))
    scratch = arguments.get("scratch")
    if needed is None or not isinstance(scratch, TensorValue):
        return None
    size = needed(arguments, stem.endswith("_nhwc"), isa)
    if scratch.nbytes < size:
        return f"its scratch has {scratch.nbytes:,} bytes, {isa.label} needs {size:,}"
    return None


def _conv2d(arguments: Arguments, nhwc: bool, isa: Isa) -> int:
    _, height, width, channels = _sizes(arguments["weight"])
    if height == width == 1 and _all(arguments, "padding", 0) and _all(arguments, "dilation", 1):
        return 0
    if isa is Isa.MVE and (row := _row(arguments, nhwc)) is not None:
        return row
    column = height * width * channels
    lanes = 16 if isa is Isa.MVE else 4
    return 4 * -(-column // lanes) * lanes


def _row(arguments: Arguments, nhwc: bool) -> int | None:
    """Scratch of the single-row kernel, or None if it does not apply."""
    axis = 1 if nhwc else 2
    rows, inputs = _sizes(arguments["input"])[axis : axis + 2]
    outputs = _sizes(arguments["out"])[axis + 1]
    _, height, width, channels = _sizes(arguments["weight"])
    stride, padding, dilation = (
        _pair(arguments[name])[1] for name in ("stride", "padding", "dilation")
    )
    if rows != 1 or height != 1 or dilation != 1 or stride * channels % 4:
        return None
    # The odd padding left over on the right, with the remainder's sign as in C.
    odd = fmod((outputs - 1) * stride + width - inputs, 2)
    edges = (max(1, -(-pad // stride)) if pad else 0 for pad in (padding, padding + int(odd)))
    return (width + padding) * channels if sum(edges) <= outputs else None


def _pair(value: Value) -> tuple[int, int]:
    assert isinstance(value, tuple)
    first, second = value
    assert isinstance(first, int) and isinstance(second, int)
    return first, second


def _depthwise(arguments: Arguments, nhwc: bool, isa: Isa) -> int:
    _, height, width, channels = _sizes(arguments["weight"])
    batch = _sizes(arguments["input"])[0]
    # Other kernels handle the general case; their scratch is not known here.
    if arguments["depth_multiplier"] != 1 or batch != 1 or not _all(arguments, "dilation", 1):
        return 0
    if isa is Isa.MVE:
        return 4 * _BLOCK * height * width
    padding = arguments["padding"]
    narrow = isinstance(padding, tuple) and all(pad <= 1 for pad in padding)
    if isa is Isa.SCALAR or (height == width == 3 and narrow):
        return 0
    return 2 * channels * height * width


def _avg_pool2d(arguments: Arguments, nhwc: bool, isa: Isa) -> int:
    channels = _sizes(arguments["input"])[3 if nhwc else 1]
    return 4 * channels if isa is Isa.DSP else 0


_SCRATCH: Mapping[str, Callable[[Arguments, bool, Isa], int]] = {
    "quantized_conv2d": _conv2d,
    "quantized_depthwise_conv2d": _depthwise,
    "quantized_avg_pool2d": _avg_pool2d,
}
"""Scratch bytes of an operator, by its name without `_nhwc`."""


def _sizes(value: Value) -> tuple[int, ...]:
    """Sizes of a tensor of rank 4; ones for anything else, which other checks refuse."""
    if isinstance(value, TensorValue) and len(value.sizes) == 4 and prod(value.sizes) > 0:
        return value.sizes
    return (1, 1, 1, 1)


def _all(arguments: Arguments, name: str, number: int) -> bool:
    value = arguments[name]
    return isinstance(value, tuple) and all(item == number for item in value)
