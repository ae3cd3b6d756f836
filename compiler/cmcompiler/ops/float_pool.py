"""Portable pools, adaptive ones too: averages of floats, maxima and their places of all types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated

import numpy as np
import numpy.typing as npt

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place, Struct
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Packed, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa
from cmcompiler.ops.max_pool2d import MaxPool2d
from cmcompiler.ops.support.element import FLOAT, check_element, code
from cmcompiler.ops.support.functions import Floats
from cmcompiler.ops.support.parameters import INT8
from cmcompiler.ops.support.pooling import fit_window, read_pair
from cmcompiler.ops.support.window import Pair, Window

NHWC = (0, 2, 3, 1)
LARGEST_DIVISOR = 1 << 24
"""Up to it, float32 has every integer."""


@dataclass(frozen=True, slots=True)
class Cover:
    """The inputs that outputs of a pool cover along one axis; taps are `dilation` inputs apart.

    Attributes:
        firsts: input of the first tap of each output.
        counts: of its taps.
        sizes: what it counts in a mean, padding included if it is to count.
    """

    firsts: tuple[int, ...]
    counts: tuple[int, ...]
    sizes: tuple[int, ...]
    dilation: int = 1

    @classmethod
    def sliding(cls, window: Window, axis: int, length: int, count: int) -> Cover:
        """The part of each window that lies in the image."""
        starts = np.arange(count) * window.stride[axis] - window.padding[axis]
        skipped, counts = window.inside(axis, length, count)
        firsts = starts + skipped * window.dilation[axis]
        ends = np.minimum(starts + window.kernel[axis], length + window.padding[axis])
        numbers = [tuple(array.tolist()) for array in (firsts, counts, ends - starts)]
        return cls(numbers[0], numbers[1], numbers[2], window.dilation[axis])

    @classmethod
    def adaptive(cls, length: int, count: int) -> Cover:
        """Parts of the axis, as many as are wanted, which may overlap."""
        firsts = [i * length // count for i in range(count)]
        counts = tuple(-(-(i + 1) * length // count) - firsts[i] for i in range(count))
        return cls(tuple(firsts), counts, counts)

    def places(self, tap: int, length: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """The input of each output's tap, and whether it has such a tap."""
        firsts = np.array(self.firsts, np.intp)
        return np.minimum(firsts + tap * self.dilation, length - 1), np.array(self.counts) > tap

    def table(self) -> Packed:
        """As `struct cm_stretch` of kernels/float_pool.c."""
        numbers = np.array([self.firsts, self.counts, self.sizes], "<i4").T
        return Packed(numbers.tobytes(), 4)


@dataclass(frozen=True)
class PooledImages(Struct):
    """Images in any memory order, and the inputs that outputs cover. Steps in elements."""

    c_name = "cm_images"

    input: Place
    output: Place
    row_table: Annotated[Place, "a struct stretch for each output row and column"]
    column_table: Place
    row_dilation: Int32
    column_dilation: Int32
    batch: Annotated[Int32, "of the output"]
    channels: Int32
    rows: Int32
    columns: Int32
    input_batch: Int32
    input_channels: Int32
    input_rows: Int32
    input_columns: Int32
    output_batch: Int32
    output_channels: Int32
    output_rows: Int32
    output_columns: Int32


@dataclass(frozen=True)
class FloatAvgPoolArguments(Arguments):
    """Images of floats, which are averaged."""

    c_name = "cm_avg_pool_f32"

    images: PooledImages
    divisor: Annotated[Int32, "0: the number of inputs covered"]


@dataclass(frozen=True)
class PortableMaxPoolArguments(Arguments):
    """Images whose largest elements, or the places of these, are wanted."""

    c_name = "cm_max_pool"

    images: PooledImages
    image_width: Int32
    type: Annotated[Int32, "enum cm_element"]
    of_places: Annotated[Int32, "returns the index of the tap in its image, as int64"]


@dataclass(frozen=True)
class PortablePool(Op):
    """A pool of images in any memory order.

    Attributes:
        images, output: windows [N, C, H, W] on the input, and on all of the output.
        shape: of the output, physical.
    """

    rows: Cover
    columns: Cover
    images: Strided
    output: Strided
    shape: tuple[int, ...]

    def taps(self, tensor: Array) -> Iterator[tuple[Array, Array, Array]]:
        """For each tap in order: its inputs [N, C, H, W], which are there, their places."""
        images = self.images.read(tensor)
        height, width = images.shape[2:]
        most = (max(cover.counts, default=0) for cover in (self.rows, self.columns))
        for y, x in product(*map(range, most)):
            rows, has_row = self.rows.places(y, height)
            columns, has_column = self.columns.places(x, width)
            places = rows[:, None] * width + columns
            seen = images[:, :, rows[:, None], columns]
            yield seen, has_row[:, None] & has_column, np.broadcast_to(places, seen.shape)

    def pooled(self, source: Tensor, output: Tensor) -> PooledImages:
        """Where and how kernels read the images and write the output."""
        return PooledImages(
            Address(source),
            Address(output),
            self.rows.table(),
            self.columns.table(),
            self.rows.dilation,
            self.columns.dilation,
            *self.output.shape,
            *self.images.strides,
            *self.output.strides,
        )


@dataclass(frozen=True)
class FloatAvgPool(PortablePool):
    """Sums of float32 taps, row by row, over the sizes of the stretches.

    Attributes:
        divisor: in place of the sizes; 0 if there is none.
    """

    label = "avg_pool2d"
    element = np.dtype(np.float32)

    divisor: int = 0

    def reference(self, *inputs: Floats) -> tuple[Floats, ...]:
        total = np.zeros(self.output.shape, np.float32)
        sizes = np.multiply.outer(self.rows.sizes, self.columns.sizes)
        divisors = np.where(self.divisor != 0, self.divisor, sizes).astype(np.float32)
        with np.errstate(all="ignore"):
            for seen, is_there, _ in self.taps(inputs[0]):
                total = np.where(is_there, total + seen, total)
            return (self.output.write(total / divisors, self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = FloatAvgPoolArguments(self.pooled(inputs[0], outputs[0]), self.divisor)
        return [KernelCall.of("avg_pool_f32", arguments)]


@dataclass(frozen=True)
class PortableMaxPool(PortablePool):
    """The first of the largest taps; the last NaN, if there is one.

    Attributes:
        of_places: give the index of the tap in its image instead, as int64.
    """

    label = "max_pool2d"
    error_steps = fine_error_steps = 0.0

    of_places: bool = False

    @property
    def title(self) -> str:
        return "max_pool2d indices" if self.of_places else self.label

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        (best, _, place), *others = self.taps(inputs[0])
        for seen, is_there, places in others:
            beyond = is_there & ((seen > best) | np.isnan(seen))
            best, place = np.where(beyond, seen, best), np.where(beyond, places, place)
        return (self.output.write(np.array(place if self.of_places else best), self.shape),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        arguments = PortableMaxPoolArguments(
            self.pooled(inputs[0], outputs[0]),
            image_width=self.images.shape[3],
            type=code(inputs[0]),
            of_places=int(self.of_places),
        )
        kernel = "max_pool_f32" if inputs[0].dtype == FLOAT else "max_pool_integer"
        return [KernelCall.of(kernel, arguments)]


@program_op(
    "aten::avg_pool2d.out(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
    "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None, *, "
    "Tensor(a!) out)"
)
def read_avg_pool(call: Call) -> None:
    source, output = call.tensor("self", dtype=np.float32), call.output("out")
    images, results = _images(call, source), _images(call, output)
    rows, columns = _covers(_window(call, images, results), images, results)
    if not call.boolean("count_include_pad"):
        rows, columns = (replace(cover, sizes=cover.counts) for cover in (rows, columns))
    divisor = 0
    if not call.is_none("divisor_override"):
        divisor = call.integer("divisor_override", 1, LARGEST_DIVISOR)
    op = FloatAvgPool(rows, columns, images, results, output.tensor.shape, divisor)
    call.emit(op, [source.tensor], [output.tensor])


@program_op("aten::_adaptive_avg_pool2d.out(Tensor self, int[2] output_size, *, Tensor(a!) out)")
def read_adaptive_avg_pool(call: Call) -> None:
    source, output = call.tensor("self", dtype=np.float32), call.output("out")
    images, results = _images(call, source), _images(call, output)
    covers = _adaptive_covers(call, images, results)
    op = FloatAvgPool(*covers, images, results, output.tensor.shape)
    call.emit(op, [source.tensor], [output.tensor])


@program_op(
    "aten::adaptive_max_pool2d.out(Tensor self, int[2] output_size, *, Tensor(a!) out, "
    "Tensor(b!) indices)"
)
def read_adaptive_max_pool(call: Call) -> None:
    source, output, places = _tensors_of_max_pool(call)
    images = _images(call, source)
    for result in (output, places):
        results = _images(call, result)
        covers = _adaptive_covers(call, images, results)
        shape = result.tensor.shape
        op = PortableMaxPool(*covers, images, results, shape, of_places=result is places)
        call.emit(op, [source.tensor], [result.tensor])


@program_op(
    "aten::max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, int[2] stride=[], "
    "int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, *, Tensor(a!) out, "
    "Tensor(b!) indices)"
)
def read_max_pool(call: Call) -> None:
    """Two pools, of which the one that finds the places is seldom needed."""
    source, output, places = _tensors_of_max_pool(call)
    images, dilation = _images(call, source), read_pair(call, "dilation", at_least=1)
    for result in (output, places):
        results = _images(call, result)
        window = _window(call, images, results, dilation)
        if result is output and source.dtype == np.int8 and source.rank == 4:
            fast = MaxPool2d(window, results.permute(NHWC).shape, INT8)
            call.emit(fast, [call.arrange(source, NHWC)], [call.arranged_output(output, NHWC)])
        else:
            covers = _covers(window, images, results)
            shape = result.tensor.shape
            op = PortableMaxPool(*covers, images, results, shape, of_places=result is places)
            call.emit(op, [source.tensor], [result.tensor])


def _tensors_of_max_pool(call: Call) -> tuple[Operand, Operand, Operand]:
    """The input, the largest taps, their places."""
    source, output, places = call.tensor("self"), call.output("out"), call.output("indices")
    check_element(call, source.dtype)
    if output.dtype != source.dtype or places.dtype != np.int64:
        call.unsupported(f"{source.dtype.name} to {output.dtype.name}, {places.dtype.name}")
    if not source.rank == output.rank == places.rank:
        call.invalid(f"{list(source.shape)} to {list(output.shape)} and {list(places.shape)}")
    return source, output, places


def _images(call: Call, operand: Operand) -> Strided:
    """A tensor [N, C, H, W], or [C, H, W], as a window of four dimensions."""
    if operand.rank not in (3, 4):
        call.unsupported(f"images of {operand.rank} dimensions")
    window = Strided.of(operand)
    return window if operand.rank == 4 else window.insert(0)


def _window(call: Call, images: Strided, results: Strided, dilation: Pair = (1, 1)) -> Window:
    return fit_window(call, images.permute(NHWC).shape, results.permute(NHWC).shape, dilation)


def _covers(window: Window, images: Strided, results: Strided) -> tuple[Cover, Cover]:
    """The covers of rows and of columns."""
    sizes = zip(images.shape[2:], results.shape[2:], strict=True)
    rows, columns = (Cover.sliding(window, axis, *pair) for axis, pair in enumerate(sizes))
    return rows, columns


def _adaptive_covers(call: Call, images: Strided, results: Strided) -> tuple[Cover, Cover]:
    if images.shape[:2] != results.shape[:2] or 0 in images.shape:
        call.invalid(f"{list(images.shape)} to {list(results.shape)}")
    rows, columns = map(Cover.adaptive, images.shape[2:], results.shape[2:])
    return rows, columns
