"""Windows of a run see what is computed for their tile, moved from the left or kept from above."""

from __future__ import annotations

import pytest
from harness.run_graphs import SIDE, WIDE, bottlenecks, patched

from cmcompiler.ir.movement.copy import ColumnArguments
from cmcompiler.ir.op import Patch, TiledCall, TilePlace
from cmcompiler.isa import Isa
from cmcompiler.plan.runs.calls import TileImages
from cmcompiler.plan.runs.chains import chains
from cmcompiler.plan.runs.run import Run
from cmcompiler.plan.runs.tiling import Keeping

EXPANDED = 1
"""The index of the image that windows of 3x3 see."""

Memory = dict[TilePlace, tuple[int, int]]
"""The pixel, as row and column, that begins at a place."""


@pytest.mark.parametrize(("band", "columns"), [(1, 5), (1, 2), (2, 10), (4, 7), (5, 24), (1, 24)])
@pytest.mark.parametrize("keeping", [Keeping.COLUMNS, Keeping.ROWS])
def test_every_window_sees_its_pixels(band: int, columns: int, keeping: Keeping) -> None:
    chain = next(each for each in chains(bottlenecks(1)) if len(each.parts) == 3)
    node = chain.in_tiles(band, columns, keeping)
    assert isinstance(node.op, Run)
    (row_call,) = node.op.row_calls(node.inputs, node.outputs, Isa.SCALAR)
    tiling = node.op.tiling
    tensors = [node.inputs[0], *(part.outputs[0] for part in node.op.parts)]
    image = TileImages.of(tensors, tiling).every[EXPANDED]
    memory: Memory = {}
    computed = 0

    def place(y: int, x: int, start: int) -> TilePlace:
        row = image.place(range(x, x + 1), start)
        assert isinstance(row, TilePlace)
        return row.after(y % image.ring * image.row_bytes)

    for made_at_once in tiling.bands:
        for number, tile in enumerate(tiling.tiles):
            start = tile.starts[EXPANDED]
            for tiled in row_call.tiled:
                rows = tiled.rows_for(made_at_once.start, made_at_once.stop)
                if not rows:
                    continue
                if tiled.part is None:
                    _copy(memory, _arguments(tiled, number, len(tiling.tiles)), rows)
                elif tiled.part == 0:
                    computed += len(rows) * len(tile.made[EXPANDED])
                    made = [(y, x) for y in rows for x in tile.made[EXPANDED]]
                    memory.update({place(y, x, start): (y, x) for y, x in made})
                elif tiled.part == 1:
                    for y in range(max(rows.start - 1, 0), min(rows.stop + 1, SIDE)):
                        for x in tile.seen[EXPANDED]:
                            assert memory[place(y, x, start)] == (y, x)
    if keeping is Keeping.ROWS:
        assert computed == SIDE * SIDE


def _arguments(tiled: TiledCall, number: int, count: int) -> ColumnArguments:
    """Those of a tile."""
    patches: dict[int, Patch] = {patch.word: patch for patch in tiled.patches}
    words = [
        (name, patched(word, patches[at], number, count) if at in patches else word)
        for at, (name, word) in enumerate(tiled.call.arguments)
    ]
    return ColumnArguments.of_words(words)


def _copy(memory: Memory, op: ColumnArguments, rows: range) -> None:
    assert isinstance(op.source, TilePlace) and isinstance(op.target, TilePlace)
    for y in rows:
        source = op.source.after(y % op.source_ring * op.source_row)
        target = op.target.after(y % op.target_ring * op.target_row)
        for offset in range(0, op.bytes, WIDE):
            # In the first band there are no rows to fetch yet.
            if source.after(offset) in memory:
                memory[target.after(offset)] = memory[source.after(offset)]
