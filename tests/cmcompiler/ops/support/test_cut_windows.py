"""Windows above or below an image, with their padding left out, give the reference's bits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from harness.convolutions import Geometry, Numbers, images
from harness.examples import Example, single
from harness.rows import InRings
from harness.runtime import Runtime

from cmbuild import paths
from cmcompiler.ir.op import KernelCall, Tensors
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.support import cut_windows
from cmcompiler.ops.support.requantize import Range16, Requantize
from cmcompiler.ops.support.requantize16 import Requantize16
from cmcompiler.ops.support.window import Window


@dataclass(frozen=True)
class Crossing:
    """A layer of which windows lie partly above or below the image.

    Attributes:
        size: of the image.
    """

    window: Window
    channels: int
    outputs: int
    size: tuple[int, int]
    zero_point: int = -128
    minimum: int = -128

    @property
    def example(self) -> Example:
        data, outputs = Numbers(self.channels), self.outputs
        geometry = Geometry(self.window, 2, *self.size)
        limits = {"zero_point": self.zero_point, "minimum": self.minimum, "maximum": 127}
        op = Conv2d(
            data.int8(outputs, *self.window.kernel, self.channels),
            data.biases(outputs),
            self.window,
            -7,
            Requantize.checked([1 << 30], [-9], outputs, **limits),
            (2, *geometry.output_size, outputs),
        )
        return single(op, images(data, geometry, self.channels))

    @property
    def narrow(self) -> Example:
        """The layer with weights of four bits."""
        (node,), (images,) = self.example.graph.nodes, self.example.inputs
        assert isinstance(node.op, Conv2d)
        scales = {"multipliers": node.op.requantize.multipliers, "shifts": (-5,) * self.outputs}
        weights = (node.op.weights.astype(int) // 16).clip(-7, 7).astype(np.int8)
        return single(
            replace(node.op, weights=weights, requantize=replace(node.op.requantize, **scales)),
            images,
        )

    @property
    def has_short(self) -> bool:
        """Whether its windows of int16 are short enough."""
        height, width = self.window.kernel
        return 2 * (height - 1) * width * self.channels <= 16 * cut_windows.MOST_CHUNKS

    @property
    def short(self) -> Example:
        """The layer of int16."""
        (node,), (images,) = self.example.graph.nodes, self.example.inputs
        assert isinstance(node.op, Conv2d)
        limits = Range16(
            -32768 if self.minimum == -128 else 0, 32767 if self.zero_point < 0 else 90
        )
        multipliers = node.op.requantize.multipliers
        return single(
            replace(
                node.op,
                bias=node.op.bias.astype(np.int64),
                input_zero_point=0,
                requantize=Requantize16.of(
                    multipliers, (-12,) * self.outputs, limits, is_long=True
                ),
            ),
            images.astype(np.int16) * 23 + 5,
        )


SQUARE = Window((3, 3), padding=(1, 1))
CROSSING = (
    Crossing(SQUARE, 16, 16, (6, 8)),
    Crossing(SQUARE, 16, 8, (4, 32), 5),
    Crossing(SQUARE, 32, 68, (4, 6), -3),
    Crossing(SQUARE, 64, 64, (3, 4)),
    Crossing(SQUARE, 48, 4, (2, 4), 4),
    Crossing(Window((3, 3), (2, 2), (1, 1)), 16, 12, (7, 8), 9, -90),
    Crossing(Window((3, 3), (2, 1), (1, 1)), 32, 4, (6, 2), -100, -100),
    Crossing(Window((5, 3), padding=(2, 1)), 16, 4, (6, 6), 0),
    Crossing(Window((5, 3), padding=(2, 1)), 32, 4, (3, 6), 0),
    Crossing(Window((5, 5), padding=(2, 2)), 16, 4, (8, 8), 3),
    Crossing(Window((2, 2), padding=(1, 1)), 32, 4, (5, 7)),
    Crossing(Window((3, 5), padding=(1, 2)), 16, 4, (5, 8), 1, -50),
)


def strip_call(op: Conv2d, images: Tensor, output: Tensor) -> KernelCall:
    """What Helium calls, without SIMD."""
    if op.is_int16:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Conv2d, "_is_implicit16", lambda *_: False)
            patch.setattr(Conv2d, "_is_strip16", lambda *_: True)
            return op._short_call(images, output, Isa.SCALAR)
    return op._strip_call(images, output, Isa.SCALAR)


def of_types() -> Iterator[Example]:
    for each in CROSSING:
        yield each.example
        yield each.narrow
        if each.has_short:
            yield each.short


def test_windows_above_and_below_images(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their products leave out the padding with Helium, and here without SIMD."""
    planned = Conv2d.kernel_calls

    def calls(op: Conv2d, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        if isa is Isa.SCALAR:
            return [strip_call(op, inputs[0], outputs[0])]
        return planned(op, inputs, outputs, isa)

    monkeypatch.setattr(Conv2d, "kernel_calls", calls)
    examples = list(of_types())
    for example, isa in itertools.product(examples, {Isa.SCALAR, Isa.MVE} & {*runtime.isas}):
        (node,) = example.graph.nodes
        (call,) = node.op.kernel_calls(node.inputs, node.outputs, isa)
        assert call.kernel.startswith("strip_conv2d_cut")
    runtime.check(*examples)


def in_rings(example: Example) -> Iterator[Example]:
    """Each row of outputs alone, the first two, and the last two."""
    (node,), (images,) = example.graph.nodes, example.inputs
    assert isinstance(node.op, Conv2d)
    op = replace(node.op, output_shape=(1, *node.op.output_shape[1:]))
    end = op.output_shape[1]
    ranges = {(row, row + 1) for row in range(end)} | {(0, min(2, end)), (max(0, end - 2), end)}
    for rows in sorted(ranges):
        ring = InRings(op, op.window, images.shape[1], end, rows)
        yield single(ring, ring.fill(images[:1]))


def test_limits_are_those_of_the_runtime() -> None:
    """A row of windows that the runtime does not take is multiplied with the padding."""
    header = (paths.runtime() / "include/cmrt/isa.h").read_text()
    limits = f"enum {{ CHUNK = {cut_windows.CHUNK}, MOST_CHUNKS = {cut_windows.MOST_CHUNKS} }};"
    assert limits in header


def test_their_rows_may_lie_in_rings(runtime: Runtime) -> None:
    runtime.check(*(ring for each in of_types() for ring in in_rings(each)))
