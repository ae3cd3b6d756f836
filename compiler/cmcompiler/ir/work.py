"""Counts of what kernels do: the one statement of their cost outside of C.

tests/cmcompiler/ops/test_work.py compares them with the kernels' own C. The price of one of each is
in two tables: instructions of an instruction set for plans (plan/streams/costs), cycles of a core
for predictions (cmbuild/sizing).
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from cmcompiler.ir.layout import Struct

A = TypeVar("A", bound="Arguments")


class Work(NamedTuple):
    """How often the loops of a kernel run, or the price of one of each.

    Attributes:
        macs: multiply-accumulates.
        filled: the same, or the elements that a pool reads, with those that fill vectors.
        outputs: elements of the results.
        calls: of the kernel.
        pixels: of outputs that are computed from windows.
        segments: runs of bytes that are gathered, several for each window.
        clipped: how many of these, or of a pool's, may cross a side of the image.
        portions: parts that a call divides its outputs into, each computed at once.
        batches: those of them whose patches are gathered.
        splits: batches beyond one for each row of outputs.
        columns: of the products of all portions, each with loops and rescaling that start again.
        operands: of the windows of all pixels, which loops widen or pair before they multiply.
        gathered: bytes of patches.
        lines: rows of pixels of all strips.
        copied: vectors of strips.
        rectified: outputs that a ReLU is taken to make zero; their price, below 0, is what that
            saves.
    """

    macs: float = 0.0
    filled: float = 0.0
    outputs: float = 0.0
    calls: float = 0.0
    pixels: float = 0.0
    segments: float = 0.0
    clipped: float = 0.0
    portions: float = 0.0
    batches: float = 0.0
    splits: float = 0.0
    columns: float = 0.0
    operands: float = 0.0
    gathered: float = 0.0
    lines: float = 0.0
    copied: float = 0.0
    rectified: float = 0.0

    def times(self, count: int) -> Work:
        return Work(*(each * count for each in self))

    def plus(self, other: Work) -> Work:
        return Work(*map(sum, zip(self, other, strict=True)))

    def at(self, prices: Work) -> float:
        """The cost of all of it."""
        return sum(count * price for count, price in zip(self, prices, strict=True) if count)


class Arguments(Struct):
    """The argument struct of a kernel, and the work of a call that gets it.

    All that the loops of the C function read is a field.
    """

    joins_rows = False
    """Rows of outputs that lie one after the other are rows of one matrix product."""

    @property
    def suits_more(self) -> bool:
        """The kernel makes a row alone in much more than its share of the time of several."""
        return False

    @property
    def depth_of_products(self) -> int:
        """How many products a sum of its matrix products adds; 0 if it has none."""
        return 0

    def division(self, rows: int, units: int = 1) -> Work:
        """Into how many parts `rows` rows of outputs are divided that are computed at once.

        Args:
            units: of the scratch that grows, while that is not settled.
        """
        del rows, units
        return Work()

    def moving(self, rows: int, elements: int, lanes: int) -> Work:
        """What a step copies, which its own arguments tell, though another counts for its node.

        Args:
            rows: of outputs, each of which a call of these arguments makes.
            elements: of the node; 0 if another step counts for it.
        """
        del rows, elements, lanes
        return Work()

    def gathering(self) -> Work:
        """The work of moving operands to where products read them, for all outputs."""
        return Work()

    def in_bands(self: A, rows: int) -> A:
        """The arguments of calls that are each asked for so many rows at once."""
        del rows
        return self

    def of_tile(self, macs: int, outputs: int, rows: int, lanes: int) -> Work:
        """All work of a call that computes some rows of a tile of columns.

        Args:
            macs, outputs: of these rows.
            lanes: as for `whole`.
        """
        parts = self.division(rows)
        work = self.whole(macs, outputs, 1, lanes)
        return work._replace(portions=parts.portions, columns=parts.columns)

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        """All work of a step whose scratch is settled.

        Args:
            lanes: int8 operands that inner loops take at once.
        """
        return plain(macs, outputs, calls, lanes)


def plain(macs: int, outputs: int, calls: int, lanes: int) -> Work:
    """The work of a kernel whose vectors lie along the products of an output."""
    products = outputs * filled(macs // outputs, lanes) if macs else 0
    return Work(macs=macs, filled=products, outputs=outputs, calls=calls)


def filled(count: int, lanes: int) -> int:
    """With what is missing in the last vector."""
    return -(-count // lanes) * lanes
