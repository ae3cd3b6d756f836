"""A piece of a copy: elements of one tensor, and where they go in another."""

from __future__ import annotations

from dataclasses import dataclass

from cmcompiler.ir.movement.loops import Strided


@dataclass(frozen=True, slots=True)
class Piece:
    """Elements of one input and where they go, as windows of one shape.

    Attributes:
        source: index of the input.
        reads, writes: windows on that input and on the output.
    """

    source: int
    reads: Strided
    writes: Strided
