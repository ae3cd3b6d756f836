"""Rough costs of kernels and of the interpreter of streams, by instruction set: rates.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cmcompiler.ir.work import Arguments, Work
from cmcompiler.isa import Isa
from cmcompiler.ops.support.weight_orders import SHALLOW_DEPTH

FITTED = Path(__file__).with_name("rates.json")
"""The table, which benchmarks/rates.py fits to instructions of calls and of turns."""

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
        general: as many taps a product takes where no kernel is made for the window.
        pooled: for an element of a window of a pool.
        byte: written by another op.
        deep, shallow: of a matrix product, the latter where depths are few enough.
        split: more for each batch of patches beyond one a row.
        strip, copied: of a strip of columns, which Helium alone takes: for each row of its pixels,
            and for 16 bytes of one.
        spare: instructions for each product of a row that is computed in vain.
        three, single: rows more that three rows, and a row alone, take than a part of four, where
            these are taken at once.
        portion, share: of a depthwise convolution: for a portion of a row, and for each channel
            of it.
        filling: part of a depthwise convolution of a narrow image whose rounds several bands fill.
        alone: part of one that a row alone takes more than as one of those that its kernel suits,
            with strides of 1 and 2.
        other: the same if another kernel makes rows alone, besides more portions.
        turn: of the interpreter of stages.
        wait: of the interpreter, for a row from outside or one that goes there.
        band: of a kernel around its inner loops.
        strips: of a convolution over strips around its inner loops.
        moved: of the kernel and the interpreter where arguments move along.
        accumulated: of a sum or an extreme of rows, for each output of a band that adds to it.
        pixel: of a depthwise convolution around a row of a single pixel.
        tiled: of the interpreter and of a kernel around its inner loops, for a call of a run.
    """

    product: float
    output: float
    vector: float
    gathered: float
    segment: float
    tap: float
    line: float
    strided: float
    general: float
    pooled: float
    byte: float
    deep: Product
    shallow: Product
    split: float
    strip: float
    copied: float
    spare: float
    three: float
    single: float
    portion: float
    share: float
    filling: float
    alone: tuple[float, float]
    other: float
    turn: float
    wait: float
    band: float
    strips: float
    moved: float
    accumulated: float
    pixel: float
    tiled: float

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Rates:
        """The rates of an instruction set in rates.json."""
        deep, shallow = (Product(**table[name]) for name in ("deep", "shallow"))
        first, second = table["alone"]
        return cls(**{**table, "deep": deep, "shallow": shallow, "alone": (first, second)})

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


def read_rates() -> dict[Isa, Rates]:
    """The table."""
    table = json.loads(FITTED.read_bytes())
    return {isa: Rates.of(table["rates"][isa.label]) for isa in Isa}


RATES = read_rates()
