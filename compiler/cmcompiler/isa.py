"""Instruction sets, and which of them has a microkernel of its own."""

from __future__ import annotations

from enum import IntEnum


class Isa(IntEnum):
    """An instruction set of the kernels; a higher one also runs what a lower one runs."""

    SCALAR = 0
    """Armv6-M and up: no unaligned access, no hardware divide assumed."""
    DSP = 1
    """Armv7E-M, and Armv8-M Mainline with the DSP extension."""
    MVE = 2
    """Armv8.1-M Mainline with integer Helium."""

    @property
    def label(self) -> str:
        return self.name.lower()

    @classmethod
    def named(cls, name: str) -> Isa:
        """Raises KeyError for an unknown name."""
        return cls[name.upper()]


# Microkernel → the instruction sets under runtime/isa/ that bring their own version of it. The
# packing of weights follows it; a test holds this table to the files.
MICROKERNELS: dict[str, frozenset[Isa]] = {
    "add_affine_s8": frozenset({Isa.SCALAR, Isa.MVE}),
    "add_s8": frozenset({Isa.SCALAR}),
    "avg_window_s8": frozenset({Isa.SCALAR, Isa.DSP, Isa.MVE}),
    "copy_blocks_s8": frozenset({Isa.SCALAR, Isa.MVE}),
    "copy_strided": frozenset({Isa.SCALAR, Isa.MVE}),
    "depthwise_3x3_s8": frozenset({Isa.SCALAR, Isa.DSP, Isa.MVE}),
    "depthwise_5x5_s8": frozenset({Isa.SCALAR, Isa.MVE}),
    "depthwise_s8": frozenset({Isa.SCALAR, Isa.MVE}),
    "dequantize_s8": frozenset({Isa.SCALAR, Isa.MVE}),
    "gemm_s8": frozenset({Isa.SCALAR, Isa.DSP, Isa.MVE}),
    "gemv_s8": frozenset({Isa.SCALAR, Isa.MVE}),
    "lookup_s8": frozenset({Isa.SCALAR, Isa.MVE}),
    "matmul_s8": frozenset({Isa.SCALAR, Isa.MVE}),
    "max_window_s8": frozenset({Isa.SCALAR, Isa.DSP, Isa.MVE}),
    "maximum_s8": frozenset({Isa.SCALAR, Isa.MVE}),
    "minimum_s8": frozenset({Isa.SCALAR, Isa.MVE}),
    "mul_right_s8": frozenset({Isa.SCALAR, Isa.MVE}),
    "mul_s8": frozenset({Isa.SCALAR}),
    "quantize_s8": frozenset({Isa.SCALAR, Isa.MVE}),
    "softmax_s8": frozenset({Isa.SCALAR, Isa.MVE}),
}


def provider(microkernel: str, isa: Isa) -> Isa:
    """The instruction set whose version of a microkernel is linked for a core with `isa`."""
    return max(level for level in MICROKERNELS[microkernel] if level <= isa)
