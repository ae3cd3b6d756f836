"""Rough costs of kernels and of the interpreter of streams; fitted to runs of the zoo."""

from __future__ import annotations

from dataclasses import dataclass

from cmcompiler.ir.work import Arguments, Work
from cmcompiler.isa import Isa
from cmcompiler.ops.support.weight_orders import SHALLOW_DEPTH

TURN = 45
"""Instructions of the interpreter of stages for a turn."""

WAIT = 130
"""Instructions of the interpreter for a row from outside or one that goes there."""

BAND = 95
"""Instructions of a kernel around its inner loops."""

STRIPS = 65
"""Instructions of a convolution over strips around its inner loops."""

MOVED = 275
"""Instructions of the kernel and the interpreter where arguments move along."""

ACCUMULATED = 10
"""Instructions of a sum or an extreme of rows, for each band that adds to it."""

PIXEL = 220
"""Instructions of a depthwise convolution around a row of a single pixel."""

LANES = 16
"""Channels whose rows a depthwise convolution with Helium interleaves at once."""

ROUND = 8
"""Outputs that a depthwise convolution with Helium makes at once of a row alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Rates of a call that makes a matrix product.

    Attributes:
        call, column: of the product, and for each of its columns.
        batch: more for patches, to gather them.
    """

    call: float
    column: float
    batch: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Rates of kernels with an instruction set.

    Attributes:
        product, output: instructions for a product of a matrix, and for a result.
        vector: for a product of a single row.
        gathered, segment: for a byte of a patch, and for a row of its window.
        tap, line: for a product of another convolution, and for a row of a channel.
        strided: as many taps a product of one with stride 2 takes.
        pooled: for an element of a window of a pool.
        byte: written by another op.
        deep, shallow: of a matrix product, the latter where depths are few enough.
        split: more for each batch of patches beyond one a row.
        strip, copied: of a strip of columns, which Helium alone takes: for each row of its pixels,
            and for 16 bytes of one.
        spare: instructions for each product of a row that is computed in vain.
        three: rows more that three rows take than a part of four, where these are taken at once.
        portion, share: of a depthwise convolution: for a portion of a row, and for each channel
            of it.
        filling: part of a depthwise convolution of a narrow image whose rounds several bands fill.
        alone: part of one that a row alone takes more than as one of those that its kernel suits,
            with strides of 1 and 2.
        other: the same if another kernel makes rows alone, besides more portions.
    """

    product: float
    output: float
    vector: float
    gathered: float
    segment: float
    tap: float
    line: float
    strided: float
    pooled: float
    byte: float
    deep: Product
    shallow: Product
    split: float
    strip: float = 0
    copied: float = 0
    spare: float
    three: float
    portion: float
    share: float
    filling: float
    alone: tuple[float, float]
    other: float

    def prices(self, arguments: Arguments) -> Work:
        """Instructions of one of each that calls with such arguments do."""
        depth = arguments.depth_of_products
        if not depth:
            return Work(portions=self.portion, columns=self.share)
        product = self.shallow if depth <= SHALLOW_DEPTH else self.deep
        return Work(
            portions=product.call,
            batches=product.batch,
            splits=self.split,
            columns=product.column,
            segments=self.segment,
            gathered=self.gathered,
            lines=self.strip,
            copied=self.copied,
        )


_SCALAR = Product(call=280, column=0, batch=1500)
_DSP = Product(call=200, column=0, batch=210)

RATES = {
    Isa.SCALAR: Rates(
        product=3.5,
        output=100,
        vector=3.5,
        gathered=2.9,
        segment=150,
        tap=12,
        line=0,
        strided=1,
        pooled=8,
        byte=10,
        deep=_SCALAR,
        shallow=_SCALAR,
        split=0,
        spare=0,
        three=0,
        portion=0,
        share=0,
        filling=0,
        alone=(1, 0.25),
        other=0,
    ),
    Isa.DSP: Rates(
        product=0.91,
        output=8.5,
        vector=1.4,
        gathered=0.5,
        segment=30,
        tap=2.2,
        line=20,
        strided=1.45,
        pooled=2,
        byte=3,
        deep=_DSP,
        shallow=_DSP,
        split=0,
        spare=1,
        three=0.28,
        portion=400,
        share=62,
        filling=0,
        alone=(0.51, 0.3),
        other=0,
    ),
    Isa.MVE: Rates(
        product=0.116,
        output=2.6,
        vector=0.14,
        gathered=0.25,
        segment=7,
        tap=0.4,
        line=22,
        strided=2,
        pooled=0.45,
        byte=1.2,
        deep=Product(call=290, column=5.3, batch=65),
        shallow=Product(call=270, column=13, batch=115),
        split=180,
        strip=45,
        copied=4.5,
        spare=0.11,
        three=0,
        portion=320,
        share=24,
        filling=0.3,
        alone=(1.05, 0.25),
        other=0.15,
    ),
}
