"""Operators in a row as one node of a graph, whose inner tensors memory holds only tiles of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import (
    TILES,
    Array,
    KernelCall,
    Op,
    RowCall,
    Scratch,
    Tensors,
    TiledCall,
    Words,
)
from cmcompiler.isa import Isa
from cmcompiler.ops.strip import Strip, convolution_of
from cmcompiler.ops.support.convolution import Convolution
from cmcompiler.plan.abi import CONTROL_TILES, REF_NONE
from cmcompiler.plan.runs.calls import NoTiles, TileImages, filled_words, tiled_call
from cmcompiler.plan.runs.columns import KeptImage
from cmcompiler.plan.runs.tile_calls import TileCalls, tile_calls
from cmcompiler.plan.runs.tiling import Keeping, Tiling


@dataclass(frozen=True)
class Run(Op):
    """Operators of which each reads the one before.

    Attributes:
        parts: their nodes.
    """

    label = "run"

    parts: tuple[Node, ...]
    _known: dict[tuple[Tensors, Tensors, Isa], Sequence[RowCall]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def title(self) -> str:
        return f"{self.label} of {len(self.parts)}"

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return all(part.op.exact for part in self.parts)

    @property
    def macs(self) -> int:
        return sum(part.op.macs for part in self.parts)

    @property
    def strip(self) -> Strip | None:
        """The last operator, if its result is a strip of an image."""
        last = self.parts[-1].op
        return last if isinstance(last, Strip) else None

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        results = inputs
        for part in self.parts:
            results = part.op.reference(*results)
        return results

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        return [call.call for call in self.row_calls(inputs, outputs, isa)]

    def row_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        """The only call; none if there are no such tiles."""
        key = (inputs, outputs, isa)
        if key not in self._known:
            try:
                self._known[key] = [self._call(inputs, outputs, isa)]
            except NoTiles:
                self._known[key] = ()
        return self._known[key]

    @abstractmethod
    def _call(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> RowCall:
        """
        Raises:
            NoTiles: kernels cannot make such tiles.
        """

    @abstractmethod
    def tile_calls(self, tiled: TiledCall) -> Iterator[TileCalls]:
        """How often a step is called, and for how much."""

    def layer(self, tiled: TiledCall) -> Node | None:
        """The node that a step computes; None if it moves columns."""
        return None if tiled.part is None else self.parts[tiled.part]


@dataclass(frozen=True)
class TiledRun(Run):
    """Convolutions in tiles of columns.

    Attributes:
        band: rows that are made at once.
        columns: of a tile.
        keeping: what is kept of tiles instead of computing it again.
    """

    band: int
    columns: int
    keeping: Keeping = Keeping.NOTHING

    @cached_property
    def tiling(self) -> Tiling:
        images = [self.parts[0].inputs[0], *(part.outputs[0] for part in self.parts)]
        return Tiling(
            tuple(op.window for op in self.convolutions),
            tuple((image.shape[1], image.shape[2]) for image in images),
            self.band,
            self.columns,
            self.keeping,
        )

    @property
    def convolutions(self) -> tuple[Convolution, ...]:
        return tuple(op for part in self.parts if (op := convolution_of(part.op)) is not None)

    def tile_calls(self, tiled: TiledCall) -> Iterator[TileCalls]:
        return tile_calls(self.tiling, tiled, self.layer(tiled))

    def _call(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> RowCall:
        tensors = [*inputs, *(part.outputs[0] for part in self.parts[:-1]), *outputs]
        images = TileImages.of(tensors, self.tiling, self.strip)
        call = run_call(
            RunCalls(tuple(self._tiled(images, isa)), len(self.tiling.tiles)),
            self.band,
            (-self.tiling.lead, outputs[0].shape[1]),
            (images.tile_bytes, images.kept_bytes),
        )
        return replace(call, reads={inputs[0]: self.tiling.seen[0]})

    def _tiled(self, images: TileImages, isa: Isa) -> Iterator[TiledCall]:
        """The calls for a tile, in order."""
        for index, op in enumerate(self.convolutions):
            made = index + 1
            kept: list[KeptImage] = []
            if self.tiling.hands_on(made) or made in images.kept:
                image = KeptImage(self.tiling, made, images.every[made], images.kept.get(made))
                kept.append(image)
            for image in kept:
                yield from image.before
            yield tiled_call(index, op, images.every, self.tiling, isa)
            for image in kept:
                yield from image.after


@dataclass(frozen=True)
class RunCalls:
    """The calls of a run.

    Attributes:
        tiled: for a tile, in order.
        tiles: their number.
    """

    tiled: tuple[TiledCall, ...]
    tiles: int


def run_call(
    calls: RunCalls, band: int, rows: tuple[int, int], scratch: tuple[int, int]
) -> RowCall:
    """The call of a run, without the rows that it reads: struct cm_tiles in cmrt/program.h.

    Args:
        scratch: bytes for a turn, and from turn to turn.
    """
    steps = 1 + len(calls.tiled)
    words: Words = [
        ("control", CONTROL_TILES),
        ("scratch", Scratch(scratch[0], steps=steps)),
        ("kept", Scratch(scratch[1], kept=True) if scratch[1] else REF_NONE),
        ("band", band),
        ("calls, tiles", len(calls.tiled) | calls.tiles << 16),
    ]
    for index, each in enumerate(calls.tiled):
        words += _tiled_words(index, each)
    return RowCall(KernelCall(TILES, words, rows), {}, band, tiled=calls.tiled, tiles=calls.tiles)


def _tiled_words(index: int, call: TiledCall) -> Words:
    """The words of struct cm_tiled in cmrt/program.h."""
    size = len(filled_words(call.call.arguments))
    head = size | len(call.patches) << 8 | _short(call.rows.factor) << 16
    words: Words = [
        (f"{index}: words, patches, factor", head),
        ("low, high", _short(call.rows.low) | _short(call.rows.high) << 16),
    ]
    for patch in call.patches:
        words += [
            ("word", patch.word),
            ("second", patch.second),
            ("step", patch.step),
            ("last", patch.last),
        ]
    return words


def _short(number: int) -> int:
    return number & 0xFFFF
