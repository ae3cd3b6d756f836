"""Turns the words of kernel calls into numbers and addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cmcompiler.ir.op import (
    Address,
    GrowableScratch,
    KernelCall,
    Narrow,
    Packed,
    PackedPart,
    RingRows,
    RowAddress,
    RowCount,
    Scratch,
    ScratchCount,
    TilePlace,
    Word,
)
from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.constants import ConstantPool
from cmcompiler.plan.lifetimes import Liveness
from cmcompiler.plan.plan import Argument, Base, Ref, fill_words


class Resolver:
    """Turns the words of kernel calls into numbers and addresses; takes scratch in order."""

    def __init__(
        self,
        memory: Liveness,
        offsets: Sequence[int],
        constants: ConstantPool,
        rings: Mapping[Tensor, int],
        streams: int,
    ) -> None:
        """
        Args:
            rings: rows of each tensor that is a ring.
            streams: how many blocks of progress follow those of the memory.
        """
        self.places: dict[Tensor, Ref] = {}
        self._memory = memory
        self._offsets = offsets
        self._constants = constants
        self._rings = rings
        self._next_progress = len(memory.blocks)
        # Scratch of the last run, for a turn and from turn to turn.
        self._run = self._kept = Ref(Base.ARENA, 0)
        self._next_scratch = len(memory.blocks) + streams

    def rows(self, tensor: Tensor) -> int:
        """How many rows of an image are in memory."""
        return self._rings.get(tensor, tensor.shape[1])

    def part(self, part: TilePlace) -> Ref:
        """A place in the scratch of the last run."""
        base = self._kept if part.kept else self._run
        return Ref(base.base, base.offset + part.offset)

    def take_progress(self) -> Ref:
        self._next_progress += 1
        return Ref(Base.ARENA, self._offsets[self._next_progress - 1])

    def arguments(self, call: KernelCall) -> tuple[Argument, ...]:
        try:
            arguments = tuple(
                Argument(name, self._value(word), word.bits if isinstance(word, Narrow) else 32)
                for name, word in call.arguments
            )
            moves = any(isinstance(word, RowAddress) for _, word in call.arguments)
            if moves and len(fill_words(arguments)) < len(arguments):
                raise ValueError("rows move along beside fields of fewer than 32 bits")
            return arguments
        except ValueError as error:
            raise ValueError(f"kernel {call.kernel}: {error}") from error

    def place(self, tensor: Tensor) -> Ref:
        if tensor not in self.places:
            place = self._memory.storage[tensor]
            owner = place.owner
            if owner.data is not None:
                ref = self._constants.add(np.ascontiguousarray(owner.data).tobytes())
            else:
                offset = self._offsets[self._memory.block[owner]]
                ref = Ref(Base.ARENA, offset + self._memory.start[owner])
            self.places[tensor] = Ref(ref.base, ref.offset + place.offset)
        return self.places[tensor]

    def _take_scratch(self, scratch: Scratch) -> Ref:
        self._next_scratch += 1
        place = Ref(Base.ARENA, self._offsets[self._next_scratch - 1])
        if scratch.steps > 1:
            self._run = place
        if scratch.kept:
            self._kept = place
        return place

    def _constant(self, word: Packed | PackedPart) -> Ref:
        packed, offset = (word.packed, word.offset) if isinstance(word, PackedPart) else (word, 0)
        place = self._constants.add(packed.data, packed.align)
        return Ref(place.base, place.offset + offset)

    def _value(self, word: Word) -> int | float | Ref:
        if isinstance(word, RingRows):
            return -(-self.rows(word.tensor) // word.every)
        if isinstance(word, Address | RowAddress):
            if not 0 <= word.offset <= word.tensor.nbytes:
                raise ValueError(f"offset {word.offset} lies outside {word.tensor.name}")
            place = self.place(word.tensor)
            return Ref(place.base, place.offset + word.offset)
        if isinstance(word, Packed | PackedPart):
            return self._constant(word)
        if isinstance(word, Scratch | TilePlace):
            return self.part(word) if isinstance(word, TilePlace) else self._take_scratch(word)
        assert not isinstance(word, GrowableScratch | ScratchCount)
        if isinstance(word, RowCount):
            word = word.each
        if isinstance(word, float | np.floating):
            return float(word)
        if isinstance(word, Narrow):
            half = 1 << (word.bits - 1)
            if not -half <= word < half:
                raise ValueError(f"{int(word)} does not fit {word.bits} bits")
        if not -(1 << 31) <= word < 1 << 32:
            raise ValueError(f"{word} does not fit 32 bits")
        return int(word)
