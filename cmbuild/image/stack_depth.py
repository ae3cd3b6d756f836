"""The stack that an image can take, from its machine code: the deepest path from reset and from
each interrupt handler, whatever compiler or hand wrote the functions.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cmbuild.image import elf
from cmbuild.image.frame import FunctionFrame, Loaded, UnknownFrame, frame_of

_LEVELS = 4
"""Calls by pointer within one another: the executor takes a turn, which calls a kernel, which calls
a loop; and one more, for a project's own kernels.
"""

_VENEER = re.compile(r"__(?:\w+Thunk_(?P<lld>.+)|(?P<gnu>.+)_(?:veneer|from_thumb))")
"""A linker's code for a call that reaches far."""

_VENEER_BYTES = 8
"""A veneer of Armv6-M saves a register."""

_TABLE_HELPER = re.compile(r"__gnu_thumb1_case_\w+")
"""libgcc's jumps by a table, for Armv6-M: they return into the function."""


class UnknownDepth(Exception):
    """Raised with the reason why a path's depth is not known: `walk calls itself`."""


_HANDLED = ("cm_reset", "cm_fault")
"""Entries of runtime/cortexm/startup.S in the vector table; the second one's is `_ROOM`."""

_FLOAT_FRAME, _FRAME = 108, 36
"""Bytes that a core pushes as it takes an exception, and to align them: Armv7-M and Armv8-M
Architecture Reference Manuals, "Exception entry behavior"."""

_ROOM = 512
"""FAULT_STACK of runtime/cortexm/startup.S: for the report of a fault at the deepest point, or for
interrupt handlers that the board's code installs as it runs.
"""

_GUARD = 256
"""CM_STACK_GUARD_BYTES of runtime/cortexm/protect.h, where no register limits the stack."""

_STEP = 64


@dataclass(frozen=True, slots=True)
class _Depth:
    """
    Attributes:
        most: bytes at the deepest point, calls by pointer left out.
        pointers: bytes at the deepest call by pointer; None if there are none.
    """

    most: int
    pointers: int | None

    def below(self, pushed: int) -> _Depth:
        """The depth for a caller that has pushed some bytes before."""
        pointers = None if self.pointers is None else pushed + self.pointers
        return _Depth(pushed + self.most, pointers)


def _deeper(depths: Sequence[_Depth]) -> _Depth:
    pointers = [depth.pointers for depth in depths if depth.pointers is not None]
    return _Depth(max((d.most for d in depths), default=0), max(pointers, default=None))


class StackDepths:
    """Depths of the functions of an image."""

    def __init__(self, image: Path) -> None:
        self._code = elf.code(image)
        self._memory = Loaded(self._code.blocks)
        self._starts = [function.start for function in self._code.functions]
        self._frames: dict[int, FunctionFrame] = {}
        self._depths: dict[int, _Depth] = {}
        self._open: list[int] = []

    def of(self, names: Iterable[str]) -> int:
        """The deepest path from some functions; of those that the image does not have, none.

        Raises:
            UnknownDepth: recursion, or a function that computes how much stack it takes.
        """
        wanted = set(names)
        places = (f.start for f in self._code.functions if f.name in wanted)
        return max((self._whole(place) for place in places), default=0)

    def handlers(self) -> Iterator[int]:
        """The depth of each interrupt handler in the vector table."""
        for place in sorted({word & ~1 for word in self._code.vectors[1:] if word}):
            function = self._function(place)
            if function is not None and function.name not in _HANDLED:
                yield self._whole(place)

    def _whole(self, place: int) -> int:
        """Calls by pointer within one another included: as no function calls itself, each of them
        is passed once.
        """
        depth = self._depth(place)
        if depth.pointers is None:
            return depth.most
        pointed = [self._depth(each) for each in self._pointed]
        passed = sorted((d.pointers for d in pointed if d.pointers is not None), reverse=True)
        last = max((d.most for d in pointed), default=0)
        return max(depth.most, depth.pointers + sum(passed[: _LEVELS - 1]) + last)

    @cached_property
    def _pointed(self) -> frozenset[int]:
        """Functions whose address is in a constant or a register."""
        words: set[int] = set()
        for block in self._code.blocks.values():
            words.update(struct.unpack(f"<{len(block) // 4}I", block[: len(block) & ~3]))
        for function in self._code.functions:
            words |= self._frame(function, function.start).constants
        starts = set(self._starts)
        return frozenset(word - 1 for word in words if word & 1 and word - 1 in starts)

    def _function(self, place: int) -> elf.Function | None:
        """Which one holds an address."""
        index = bisect_right(self._starts, place) - 1
        if index < 0 or place >= self._code.functions[index].end:
            return None
        return self._code.functions[index]

    def _depth(self, place: int) -> _Depth:
        """The depth of a path that enters a function at an address."""
        function = self._function(place)
        if function is None:  # in a ROM
            return _Depth(0, None)
        if place in self._open:
            problem = f"{function.name} calls itself"
            raise UnknownDepth(problem)
        if place not in self._depths:
            self._open.append(place)
            self._depths[place] = self._deepest(function, place)
            self._open.pop()
        return self._depths[place]

    def _deepest(self, function: elf.Function, place: int) -> _Depth:
        if (veneer := _VENEER.fullmatch(function.name)) is not None:
            name = veneer["lld"] or veneer["gnu"]
            meant = (f.start for f in self._code.functions if f.name == name)
            return _deeper([self._depth(start).below(_VENEER_BYTES) for start in meant])
        if _TABLE_HELPER.fullmatch(function.name):
            return _Depth(_VENEER_BYTES, None)
        frame = self._frame(function, place)
        calls = [self._depth(each).below(pushed) for each, pushed in frame.calls.items()]
        return _deeper([_Depth(frame.deepest, frame.pointers), *calls])

    def _frame(self, function: elf.Function, entry: int) -> FunctionFrame:
        if entry not in self._frames:
            content = self._memory.read(function.start, function.end - function.start) or b""
            data, memory = self._code.data, self._memory
            try:
                frame = frame_of(content, function.start, entry, data, memory)
            except UnknownFrame:
                problem = f"{function.name} computes how much it takes"
                raise UnknownDepth(problem) from None
            self._frames[entry] = frame
        return self._frames[entry]


def stack_need(image: Path, *, has_limit: bool, has_floats: bool) -> int:
    """Bytes of stack that an image needs at most.

    The sum of the deepest path from reset, of every interrupt handler in the vector table, as if
    each interrupted the other, of room for what the table does not show, and of the guard.

    Args:
        has_limit: the core has a register for the end of the stack.
        has_floats: exceptions save registers of an FPU.

    Raises:
        UnknownDepth: recursion, or a function that computes how much stack it takes.
    """
    depths = StackDepths(image)
    pushed = _FLOAT_FRAME if has_floats else _FRAME
    need = depths.of(["cm_reset"]) + sum(depth + pushed for depth in depths.handlers())
    return stack_bytes(need, has_limit=has_limit)


def stack_bytes(depth: int, *, has_limit: bool) -> int:
    """Bytes to reserve for calls and interrupts of a depth."""
    need = depth + _ROOM + (0 if has_limit else _GUARD)
    return -(-need // _STEP) * _STEP
