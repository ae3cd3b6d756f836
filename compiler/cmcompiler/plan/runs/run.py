"""Operators in a row as one node of a graph, whose inner tensors memory holds only tiles of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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
from cmcompiler.ops.support.convolution import Convolution
from cmcompiler.plan.abi import CONTROL_TILES
from cmcompiler.plan.runs.calls import NoTiles, filled_words, tile_images, tiled_call
from cmcompiler.plan.runs.tiling import Tiling


@dataclass(frozen=True)
class Run(Op):
    """Convolutions of which each reads the one before.

    Attributes:
        parts: their nodes.
        band: rows that are made at once.
        columns: of a tile.
    """

    label = "run"

    parts: tuple[Node, ...]
    band: int
    columns: int
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

    @cached_property
    def tiling(self) -> Tiling:
        images = [self.parts[0].inputs[0], *(part.outputs[0] for part in self.parts)]
        return Tiling(
            tuple(op.window for op in self.convolutions),
            tuple((image.shape[1], image.shape[2]) for image in images),
            self.band,
            self.columns,
        )

    @property
    def convolutions(self) -> tuple[Convolution, ...]:
        ops = tuple(part.op for part in self.parts)
        assert all(isinstance(op, Convolution) for op in ops)
        return ops  # type: ignore[return-value]

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
            self._known[key] = self._calls(inputs, outputs, isa)
        return self._known[key]

    def _calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[RowCall]:
        tensors = [*inputs, *(part.outputs[0] for part in self.parts[:-1]), *outputs]
        images, size = tile_images(tensors, self.tiling)
        try:
            tiled = tuple(
                tiled_call(index, op, images, self.tiling, isa)
                for index, op in enumerate(self.convolutions)
            )
        except NoTiles:
            return ()
        scratch = Scratch(size, steps=1 + len(tiled))
        rows = (0, outputs[0].shape[1])
        call = KernelCall(TILES, _arguments(self, scratch, tiled), rows)
        reads = {inputs[0]: self.tiling.reaches[0]}
        return [RowCall(call, reads, self.band, tiled=tiled, tiles=len(self.tiling.tiles))]


def _arguments(run: Run, scratch: Scratch, calls: Sequence[TiledCall]) -> Words:
    """The words of struct cm_tiles in cmrt/program.h."""
    words: Words = [
        ("control", CONTROL_TILES),
        ("scratch", scratch),
        ("band", run.band),
        ("calls, tiles", len(calls) | len(run.tiling.tiles) << 16),
    ]
    for index, call in enumerate(calls):
        size = len(filled_words(call.call.arguments))
        head = size | len(call.patches) << 8 | _short(call.rows.factor) << 16
        words.append((f"{index}: words, patches, factor", head))
        words.append(("low, high", _short(call.rows.low) | _short(call.rows.high) << 16))
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
