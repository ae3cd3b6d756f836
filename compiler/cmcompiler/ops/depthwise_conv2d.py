"""Quantised depthwise convolution: what ops/convolution.py reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.channels import ChannelRule, Mask, Numbers
from cmcompiler.ir.layout import INLINE, Int16, Place, Settled
from cmcompiler.ir.op import (
    ALIGN,
    Array,
    GrowableScratch,
    KernelCall,
    Op,
    Packed,
    RowCall,
    Scratch,
    ScratchCount,
    Tensors,
    Word,
)
from cmcompiler.ir.rows import turned_shape
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Arguments, Work, filled
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.support import depthwise_affine, depthwise_long, depthwise_shared
from cmcompiler.ops.support.affine import EVERY
from cmcompiler.ops.support.arguments import ConvolutionValues, ImageRows, WindowFields, items
from cmcompiler.ops.support.convolution import Convolution
from cmcompiler.ops.support.depthwise_affine import ChannelAffine, find_affine
from cmcompiler.ops.support.depthwise_schemes import (
    ANY,
    FOR_3X3,
    SHARED,
    Scheme,
    choose,
    choose_short,
)
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.narrow_taps import narrowed
from cmcompiler.ops.support.packing16 import Filters16
from cmcompiler.ops.support.product_channels import DepthwiseRule
from cmcompiler.ops.support.requantize import Int8Array, Int32Array, Requantize
from cmcompiler.ops.support.window import Window


@dataclass(frozen=True)
class DepthwiseArguments(Arguments):
    """Bands of output rows, in portions of columns: kernels/depthwise_conv2d.c."""

    c_name = "cm_depthwise_conv2d"
    channel_bytes: ClassVar[int] = 1
    """Bytes of a channel's element, of images and of outputs."""

    input: ImageRows
    output: ImageRows
    weights: Place
    workspace: Place
    row_table: Annotated[Place, "offsets of the rows of some bands: inputs, then outputs"]
    window: Annotated[WindowFields, INLINE]
    band: Annotated[Int16, "output rows that are computed together"]
    bands: Annotated[Int16, "most such bands at once"]
    chunk: Annotated[Settled, "most output columns at once"]
    values: Annotated[ConvolutionValues, INLINE]

    @property
    def suits_more(self) -> bool:
        return self.band > 1

    def division(self, rows: int, units: int = 1) -> Work:
        width, columns = self.output.width, items(self.chunk, units)
        bands = min(self.bands, columns // width) or 1
        parts = -(-rows // (self.band * bands)) * -(-width // columns) * self.output.batch
        return Work(portions=parts, columns=parts * self.channels)

    @property
    def channels(self) -> int:
        return self.output.channels // self.channel_bytes

    def in_bands(self, rows: int) -> DepthwiseArguments:
        return replace(self, band=min(self.band, rows))

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        """Vectors lie along the channels."""
        pixels, channels = self.output.pixels, filled(self.channels, lanes)
        portions = calls * self.division(-(-self.output.height // calls)).portions
        return Work(
            macs=macs,
            filled=pixels * channels * self.window.area,
            outputs=outputs,
            calls=calls,
            pixels=pixels,
            clipped=self.window.clipped(self.output),
            portions=portions,
            columns=portions * self.channels,
        )

    def of_tile(self, macs: int, outputs: int, rows: int, lanes: int) -> Work:
        """Operands are those of all rows that bands could compute."""
        image = replace(self, output=replace(self.output, height=rows))
        work = super(DepthwiseArguments, image).of_tile(macs, outputs, rows, lanes)
        return work._replace(operands=work.filled / rows * filled(rows, max(self.band, 1)))


@dataclass(frozen=True)
class ShortBandArguments(DepthwiseArguments):
    """Bands of rows of int16 images; channels are bytes."""

    channel_bytes = 2


DEPTHWISE16 = Microkernel("depthwise_s16", dsp=True, mve=True)

_MOST_ROWS = 16
"""MOST_ROWS of kernels/short_depthwise.c."""


@dataclass(frozen=True)
class DepthwiseArguments16(Arguments):
    """Windows of int16 images, one filter per channel; channels of images are bytes."""

    c_name = "cm_short_depthwise"

    input: ImageRows
    output: ImageRows
    weights: Place
    window: Annotated[WindowFields, INLINE]

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        return Work(macs=macs, filled=macs, outputs=outputs, calls=calls, pixels=self.output.pixels)


MOST_PARTED = 4
"""One of so many channels may be computed again."""


@dataclass(frozen=True, eq=False, slots=True)
class LayerCall:
    """A call that computes a layer, or again some of its channels.

    Attributes:
        family: of the kernel for the layer, whose cost is stated for both.
    """

    scheme: Scheme
    window: Window
    values: ConvolutionValues
    family: str

    def call(self, inputs: Tensors, outputs: Tensors) -> KernelCall:
        call = scheme_call(self.scheme, inputs, outputs, self.window, values=self.values)
        return replace(call, family=self.family)


@dataclass(frozen=True, eq=False)
class DepthwiseConv2d(Convolution):
    """Convolution of NHWC images with one filter per channel, or several.

    Attributes:
        weights: int8 [kernel height, kernel width, C], those of one channel side by side.
    """

    label = "depthwise_conv2d"

    @property
    def macs(self) -> int:
        return prod(self.output_shape) * self.window.area

    @property
    def turned(self) -> DepthwiseConv2d:
        return replace(
            self,
            weights=self.weights.swapaxes(0, 1),
            window=self.window.turned,
            output_shape=turned_shape(self.output_shape),
        )

    def accumulate(self, images: Array) -> npt.NDArray[Any]:
        size, zero_point = self.output_shape[1:3], self.input_zero_point
        sums: npt.NDArray[Any] = np.zeros(
            self.output_shape, np.int64 if self.is_int16 else np.int32
        )
        for place in self.window.places:
            seen = self.window.tap(images, size, place, zero_point).astype(sums.dtype)
            seen = seen.repeat(sums.shape[3] // seen.shape[3], axis=3)
            sums += (seen - zero_point) * self.weights[place]
        return sums

    def channel_rule(self, inputs: Tensors, outputs: Tensors) -> ChannelRule[Op] | None:
        if self.output_shape[3] != inputs[0].shape[3]:
            return None
        weights = self.weights.reshape(self.window.area, -1).T

        def on_constants(values: Numbers, chosen: Mask) -> Int8Array:
            shape = (*inputs[0].shape[:3], int(chosen.sum()))
            image = np.broadcast_to(values[chosen].astype(np.int8), shape)
            part = self.of_channels(
                weights[chosen], self.bias[chosen], self.requantize.select(chosen)
            )
            (result,) = part.reference(image)
            return result.reshape(-1, result.shape[-1])

        return DepthwiseRule(self.weighted_sums(inputs[0], weights), on_constants)

    def of_channels(
        self, weights: Int8Array, bias: Int32Array, requantize: Requantize
    ) -> Convolution:
        taps = np.ascontiguousarray(weights.T).reshape(*self.window.kernel, -1)
        return super().of_channels(taps, bias, requantize)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        if self._is_short(inputs[0]):
            return [self._short_call(inputs, outputs, isa).call]
        if parts := self._parted(inputs, isa):
            return [part.call(inputs, outputs) for part in parts]
        op = self._fitted(inputs, isa)
        scheme = op._scheme(inputs, isa)
        if scheme is None:
            return op._in_groups(inputs[0]).kernel_calls(inputs, outputs, isa)
        return [op._kernel_call(scheme, inputs, outputs, isa)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        if self._is_short(inputs[0]):
            return [self._short_call(inputs, outputs, isa)]
        if parts := self._parted(inputs, isa):
            reads = {inputs[0]: self.window.rows}
            return [RowCall(p.call(inputs, outputs), reads, p.scheme.band) for p in parts]
        op = self._fitted(inputs, isa)
        scheme = op._scheme(inputs, isa)
        if scheme is None:
            return op._in_groups(inputs[0]).row_calls(inputs, outputs, isa)
        call = op._kernel_call(scheme, inputs, outputs, isa)
        alone, other = op._scheme(inputs, isa, alone=True), None
        if alone and alone.kernel != scheme.kernel and alone.weights == scheme.weights:
            other = op._kernel_call(alone, inputs, outputs, isa)
        return [RowCall(call, {inputs[0]: op.window.rows}, scheme.band, other)]

    def _parted(self, inputs: Tensors, isa: Isa) -> Sequence[LayerCall]:
        """All channels with the fast roundings, then again the few for which these are wrong.

        Empty if that is no gain: windows of 3x3, with Helium 5x5, with the DSP extension all are
        general at a multiple of the cost.
        """
        image = inputs[0].shape
        kernels = ((3, 3), (5, 5)) if isa is Isa.MVE else ((3, 3),)
        is_fast = self.window.kernel in kernels and self.window.dilation == (1, 1)
        if not (is_fast or isa is Isa.DSP) or self.output_shape[3] != image[3] or self.is_int16:
            return ()
        filters = self._filters
        if filters.suits_factors if isa is Isa.DSP else filters.suits_saturation:
            return ()
        ordinary, odd = depthwise_shared.parted(filters, isa)
        if MOST_PARTED * len(odd) > len(filters.bias) or not ordinary.suits_saturation:
            return ()
        scheme = choose(ordinary, self.window, image[2], self.output_shape, isa)
        again = depthwise_shared.of_some_channels(filters, odd, self.window, self.output_shape, isa)
        if scheme is None or again is None:
            return ()
        if scheme.microkernel is ANY and isa is Isa.MVE:
            return ()
        return [
            LayerCall(each, self.window, self.values(part.output_arguments()), scheme.family)
            for each, part in ((scheme, ordinary), (again, filters))
        ]

    def _fitted(self, inputs: Tensors, isa: Isa) -> DepthwiseConv2d:
        """This layer with zeros up to 3x3 taps, where the kernel for those takes it."""
        height, width = self.window.kernel
        if isa is not Isa.DSP or self.window.area == 9 or max(self.window.reach) > 3:
            return self
        if self.window.dilation != (1, 1):
            return self
        weights = np.pad(self.weights, ((0, 3 - height), (0, 3 - width), (0, 0)))
        filled = replace(self, weights=weights, window=replace(self.window, kernel=(3, 3)))
        if self.is_int16:
            return filled
        scheme = filled._scheme(inputs, isa)
        return filled if scheme is not None and scheme.microkernel is FOR_3X3 else self

    def _scheme(self, inputs: Tensors, isa: Isa, alone: bool = False) -> Scheme | None:
        """
        Args:
            alone: one row at a time is computed.
        """
        count, height, *rest = self.output_shape
        if self.is_int16:
            return None
        shape = (count, 1 if alone else height, *rest)
        image = inputs[0].shape
        affine = self._affine if image == self.output_shape else None
        if affine is not None and (scheme := depthwise_affine.choose(affine, image[2], isa)):
            return scheme
        if self.output_shape[3] > image[3]:
            return depthwise_shared.choose(self._filters, self.window, image, shape, isa)
        if scheme := depthwise_long.choose(self._filters, self.window, image, shape, isa):
            return scheme
        return choose(self._filters, self.window, image[2], shape, isa)

    @cached_property
    def _affine(self) -> ChannelAffine | None:
        """A multiply-add for each element, of one tap without padding; else None."""
        window, every = self.window, EVERY.reshape(1, 1, -1, 1)
        is_plain = window.area == 1 and window.stride == (1, 1) and window.padding == (0, 0)
        if not is_plain or self.is_int16:
            return None
        every = every.repeat(self.output_shape[3], axis=3)
        (table,) = replace(self, output_shape=every.shape).reference(every)
        return find_affine(table[0, 0], self.weights.ravel(), self.requantize)

    def _is_short(self, images: Tensor) -> bool:
        """Whether images are int16, with one filter for each channel."""
        return self.is_int16 and images.shape[3] == self.output_shape[3]

    def _short_call(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> RowCall:
        """The kernel call for int16 images."""
        op = self._fitted(inputs, isa)
        width = inputs[0].shape[2]
        scheme = choose_short(op._filters16, op.window, width, self.output_shape, isa)
        if scheme is None:
            return RowCall(self._pixels_call(inputs, outputs), {inputs[0]: self.window.rows})
        # The weights hold the limits.
        values = ConvolutionValues(0, 0, 0, 0, 0)
        scheme = narrowed(scheme, op._filters16.weights, op.window, isa)
        call = scheme_call(
            scheme, inputs, outputs, op.window, values=values, form=ShortBandArguments
        )
        return RowCall(call, {inputs[0]: op.window.rows}, scheme.band)

    def _pixels_call(self, inputs: Tensors, outputs: Tensors) -> KernelCall:
        """Call of the kernel for any window, pixel by pixel."""
        filters = self._filters16
        arguments = DepthwiseArguments16(
            ImageRows.of(inputs[0]),
            ImageRows.of(outputs[0]),
            weights=Packed(filters.by_taps),
            window=WindowFields.of(self.window),
        )
        rows = (0, self.output_shape[1])
        if filters.is_short and self.window.kernel[0] <= _MOST_ROWS:
            return KernelCall.of("short_depthwise", arguments, rows, microkernel=DEPTHWISE16)
        return KernelCall.of("short_depthwise_long", arguments, rows)

    @property
    def _filters16(self) -> Filters16:
        return self.filters16(self.weights.reshape(self.window.area, -1).T)

    @property
    def _filters(self) -> Filters:
        weights = self.weights.reshape(self.window.area, -1).T
        return self.known_filters(lambda: self.filters(weights))

    def _kernel_call(
        self, scheme: Scheme, inputs: Tensors, outputs: Tensors, isa: Isa
    ) -> KernelCall:
        filters = self._filters
        scheme = narrowed(scheme, filters.weights, self.window, isa)
        is_product = scheme.microkernel in (SHARED, ANY)
        ends = filters.product_arguments(isa) if is_product else filters.output_arguments()
        return scheme_call(scheme, inputs, outputs, self.window, values=self.values(ends))

    def _in_groups(self, images: Tensor) -> Convolution:
        """This layer as a convolution in groups of one channel each."""
        return Conv2d(
            self.weights.transpose(2, 0, 1)[..., np.newaxis],
            self.bias,
            self.window,
            self.input_zero_point,
            self.requantize,
            self.output_shape,
            groups=images.shape[3],
        )


def scheme_call(
    scheme: Scheme,
    inputs: Tensors,
    outputs: Tensors,
    window: Window,
    *,
    values: ConvolutionValues,
    form: type[DepthwiseArguments] = DepthwiseArguments,
) -> KernelCall:
    """The kernel call that computes all rows of a convolution so."""
    most = scheme.band * scheme.bands
    rows = (most - 1) * window.stride[0] + window.reach[0] + most
    workspace: Word = Scratch(scheme.workspace + scheme.base)
    chunk: Word = scheme.chunk
    if scheme.portions > 1:
        unit = -(-scheme.workspace // ALIGN) * ALIGN
        workspace = GrowableScratch(unit, scheme.portions, scheme.base)
        chunk = ScratchCount(scheme.chunk)
    arguments = form(
        ImageRows.of(inputs[0]),
        ImageRows.of(outputs[0]),
        weights=Packed(scheme.weights),
        workspace=workspace,
        row_table=Scratch(4 * rows),
        window=WindowFields.of(window),
        band=scheme.band,
        bands=scheme.bands,
        chunk=chunk,
        values=values,
    )
    return KernelCall(
        scheme.kernel,
        arguments.words(),
        (0, outputs[0].shape[1]),
        scheme.microkernel,
        form,
        scheme.family,
    )
