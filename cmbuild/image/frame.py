"""The stack of one function of an image, and its calls, by following its code."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from cmbuild.image.thumb import Flow, Sets, Thumb, decode, is_long

_ENDS = (Flow.JUMP, Flow.TAIL_POINTER, Flow.TABLE, Flow.RETURN)

_MOST = 1 << 20
"""Bytes of a frame; more is a loop that pushes, or code misread."""


class UnknownFrame(Exception):
    """Raised for a function that takes its stack by a number of its caller's."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Loaded bytes of an image.

    Attributes:
        blocks: contents by first address.
    """

    blocks: Mapping[int, bytes]

    def read(self, address: int, size: int) -> bytes | None:
        """None if not all of it is loaded."""
        for start, content in self.blocks.items():
            if start <= address and address + size <= start + len(content):
                return content[address - start : address - start + size]
        return None

    def word(self, address: int) -> int | None:
        content = self.read(address, 4)
        return None if content is None else int.from_bytes(content, "little")


@dataclass(slots=True)
class FunctionFrame:
    """The stack that a function takes, and the functions that it calls.

    Attributes:
        deepest: bytes that it pushes itself.
        calls: bytes pushed at a call or tail call, by the address that is called.
        pointers: the same for calls by pointer; None if there are none.
        constants: words that registers get, which may be addresses of functions.
    """

    deepest: int = 0
    calls: dict[int, int] = field(default_factory=dict)
    pointers: int | None = None
    constants: set[int] = field(default_factory=set)


def frame_of(
    code: bytes, start: int, entry: int, data: Mapping[int, int], memory: Loaded
) -> FunctionFrame:
    """
    Args:
        code: the function's bytes.
        start: its address.
        entry: where a caller enters it: not at its start after a jump into it.
        data: literals and tables between instructions: first addresses and ends.
        memory: holds the literals.

    Raises:
        UnknownFrame: the code computes how much stack it takes.
    """
    return _Walk(code, start, data, memory).frame(entry)


class _Walk:
    def __init__(self, code: bytes, start: int, data: Mapping[int, int], memory: Loaded) -> None:
        self._start, self._end = start, start + len(code)
        self._memory = memory
        self._data = data
        self._realigns = False  # an interrupt handler, which a core may enter with four bytes more
        self._frame = FunctionFrame()
        self._lines = self._decoded(code)
        self._depths: dict[int, int] = {}
        self._jumps: list[int] = []

    def _decoded(self, code: bytes) -> dict[int, tuple[Thumb, bool]]:
        """Instructions by address, with whether each is conditional; amounts that registers add to
        the stack pointer are filled in, from the constants loaded before.
        """
        lines: dict[int, tuple[Thumb, bool]] = {}
        words = struct.unpack(f"<{len(code) // 2}H", code[: len(code) & ~1])
        known: dict[int, int] = {}
        place, guarded = self._start, 0
        copy: int | None = None
        aligned = False
        while place + 2 <= self._end:
            if place in self._data:
                place = self._data[place]
                continue
            first = words[(place - self._start) // 2]
            after = (place - self._start) // 2 + 1
            if is_long(first) and after >= len(words):
                break
            step = decode(place, first, words[after] if after < len(words) else 0)
            if step.flow is Flow.CALL and step.target == place + step.size:
                step = Thumb(step.size)  # how a linker leaves out a weak function that is not there
            self._learn(step, known)
            if step.sets is Sets.BY_REGISTER:
                self._realigns |= aligned
                step = Thumb(step.size, 4) if aligned else _resolved(step, known)
            lines[place] = step, guarded > 0
            guarded = step.guarded or max(guarded - 1, 0)
            aligned = copy is not None and step.aligns == copy
            copy = step.copy
            place += step.size
        return lines

    def _learn(self, step: Thumb, known: dict[int, int]) -> None:
        """Keeps a constant that a register gets."""
        if step.register is None or step.sets is not None:
            return
        value = step.constant
        if step.literal is not None:
            value = self._memory.word(step.literal)
        if value is not None and step.upper:
            value = value << 16 | known.get(step.register, 0) & 0xFFFF
        if value is None:
            known.pop(step.register, None)
            return
        known[step.register] = value
        self._frame.constants.add(value)

    def frame(self, entry: int) -> FunctionFrame:
        self._follow(entry, 0)
        if self._jumps:  # what a table leads to
            depth = max(self._jumps)
            for place in sorted(self._lines):
                if place not in self._depths:
                    self._follow(place, depth)
        return self._frame

    def _follow(self, start: int, depth: int) -> None:
        waiting = [(start, depth)]
        while waiting:
            place, depth = waiting.pop()
            if place not in self._lines or self._depths.get(place, -1) >= depth:
                continue
            self._depths[place] = depth
            step, conditional = self._lines[place]
            after = self._after(step, depth)
            self._note(step, max(depth, after))
            if step.flow is Flow.CALL and place + step.size in self._data:
                self._jumps.append(depth)  # libgcc's jump by the table behind the call
            if conditional and after < depth:
                after = depth  # not popped if the condition does not hold
            if step.target is not None and step.flow in (Flow.JUMP, Flow.BRANCH):
                if self._start <= step.target < self._end:
                    waiting.append((step.target, after))
                else:
                    self._call(step.target, after)
            if step.flow not in _ENDS or conditional:
                waiting.append((place + step.size, after))

    def _after(self, step: Thumb, depth: int) -> int:
        begins = depth == 0 and step.register is None  # as reset does, whose stack is empty
        if step.sets is Sets.BY_REGISTER and not (begins or self._realigns):
            raise UnknownFrame
        after = max(depth + step.pushed, 0)
        if after > _MOST:
            raise UnknownFrame
        return after

    def _note(self, step: Thumb, depth: int) -> None:
        frame = self._frame
        frame.deepest = max(frame.deepest, depth)
        if step.flow is Flow.CALL and step.target is not None:
            self._call(step.target, depth)
        elif step.flow in (Flow.CALL_POINTER, Flow.TAIL_POINTER):
            frame.pointers = max(frame.pointers or 0, depth)
        elif step.flow is Flow.TABLE:
            self._jumps.append(depth)

    def _call(self, target: int, depth: int) -> None:
        calls = self._frame.calls
        calls[target] = max(calls.get(target, 0), depth)


def _resolved(step: Thumb, known: Mapping[int, int]) -> Thumb:
    """An addition to the stack pointer, with the register's constant if that is known."""
    value = None if step.register is None else known.get(step.register)
    if value is None:
        return step
    grows = value if step.negative else -value
    return Thumb(step.size, (grows + 0x80000000 & 0xFFFFFFFF) - 0x80000000)
