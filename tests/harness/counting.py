"""Runs the kernels' own C on this computer with microkernels that only count: counting.c."""

from __future__ import annotations

import ctypes
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import numpy as np

from cmbuild import paths
from cmcompiler.ir.op import KernelCall, Word
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.words import (
    Address,
    GrowableScratch,
    Narrow,
    Packed,
    RingRows,
    RowAddress,
    RowCount,
    Scratch,
    ScratchCount,
)
from cmcompiler.plan.plan import Argument, Plan, fill_words
from cmcompiler.plan.scratch import with_units

MEMORY = 8 << 20
GAP = 64
"""Bytes between tensors."""


class Counts(NamedTuple):
    """What a call of a kernel asks its microkernels for; the struct of counting.c.

    Attributes:
        portions: matrix products, or bands of a depthwise convolution.
        columns: of all products.
        macs: multiply-accumulates.
        outputs: elements of the results.
        taps: elements that are added up or compared.
        segments: rows of windows that are gathered.
        lines: rows of pixels that are copied to strips.
    """

    portions: int
    columns: int
    macs: int
    outputs: int
    taps: int
    segments: int
    lines: int


class _Context(ctypes.Structure):
    _fields_ = (("arena", ctypes.c_void_p), ("constants", ctypes.c_void_p))


class _Call(ctypes.Structure):
    _fields_ = (("arguments", ctypes.c_void_p), ("y0", ctypes.c_int32), ("y1", ctypes.c_int32))


class CountingKernels:
    """All kernels of the runtime, and memory of zeros for them."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._counts = (ctypes.c_int64 * len(Counts._fields)).in_dll(self._library, "counts")
        self._memory = np.zeros(MEMORY, np.uint8)
        self._base = self._memory.ctypes.data + -self._memory.ctypes.data % 16

    def count(
        self, call: KernelCall, units: int = 1, rows: tuple[int, int] | None = None
    ) -> Counts:
        """Counts of a call for some of its rows, with its scratch settled.

        Args:
            units: of the scratch that grows.
            rows: all if None.
        """
        words = _Places().words(with_units(call, units))
        return self._run(call.kernel, words, rows or call.rows, self._base)

    def count_plan(self, plan: Plan) -> Counts:
        """Counts of all steps of a plan without streams and branches."""
        size = len(plan.constants)
        constants = self._base + MEMORY // 2
        assert plan.arena_bytes < MEMORY // 2 and size + GAP < MEMORY // 2
        ctypes.memmove(constants, plan.constants, size)
        total = Counts(*[0] * len(Counts._fields))
        for step in plan.steps:
            assert step.is_call, step.kernel
            counts = self._run(step.kernel, [w.word for w in step.words], step.rows, constants)
            total = Counts(*map(sum, zip(total, counts, strict=True)))
        return total

    def _run(self, kernel: str, words: list[int], rows: tuple[int, int], constants: int) -> Counts:
        block = np.array(words, np.uint32)
        ctypes.memset(self._counts, 0, ctypes.sizeof(self._counts))
        context = _Context(self._base, constants)
        call = _Call(block.ctypes.data, *rows)
        getattr(self._library, f"cm_{kernel}")(ctypes.byref(context), ctypes.byref(call))
        return Counts(*self._counts)


class _Places:
    """Gives tensors and scratch a place each; constants share the first one."""

    def __init__(self) -> None:
        self._end = GAP
        self._tensors: dict[Tensor, int] = {}

    def words(self, call: KernelCall) -> list[int]:
        arguments = (
            Argument(name, self._value(word), word.bits if isinstance(word, Narrow) else 32)
            for name, word in call.arguments
        )
        return [word.word for word in fill_words(arguments)]

    def _value(self, word: Word) -> int | float:
        if isinstance(word, Address | RowAddress):
            if word.tensor not in self._tensors:
                self._tensors[word.tensor] = self._take(word.tensor.nbytes)
            return self._tensors[word.tensor] + word.offset
        if isinstance(word, RingRows):
            return -(-word.tensor.shape[1] // word.every)
        if isinstance(word, Scratch):
            return self._take(word.size)
        if isinstance(word, Packed):
            return 0
        assert not isinstance(word, RowCount | ScratchCount | GrowableScratch)
        return word

    def _take(self, size: int) -> int:
        start, self._end = self._end, self._end + -(-size // 16) * 16 + GAP
        assert self._end < MEMORY, "more memory than there is for counting"
        return start


@cache
def counting_kernels() -> CountingKernels:
    """
    Raises:
        AssertionError: the kernels do not compile, or a microkernel of theirs does not count.
    """
    runtime = paths.runtime()
    library = Path(mkdtemp()) / "counting.so"
    folder = Path(__file__).parent
    own = [folder / "counting.c", folder / "uncounted.c"]
    sources = [*own, *sorted((runtime / "kernels").glob("*.c"))]
    options = ["-std=c11", "-O1", "-Wall", "-Wextra", "-shared", "-fPIC", "-Wl,-z,defs"]
    command = ["gcc", *options, f"-I{runtime / 'include'}", "-o", library, *sources, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return CountingKernels(library)
