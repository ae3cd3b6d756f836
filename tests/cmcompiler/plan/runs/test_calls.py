"""The arguments of a tile are those of a call for its columns alone."""

from __future__ import annotations

from harness.examples import Example
from harness.run_graphs import Tiles, patched, run_graphs, tile_sizes
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ir.op import Scratch
from cmcompiler.isa import Isa
from cmcompiler.plan.runs import calls
from cmcompiler.plan.runs.calls import TileImages, filled_words
from cmcompiler.plan.runs.chains import chains
from cmcompiler.plan.runs.run import Run


@settings(max_examples=15)
@given(run_graphs(), tile_sizes, st.sampled_from(list(Isa)))
def test_every_tile_has_its_own_words(example: Example, size: Tiles, isa: Isa) -> None:
    for chain in chains(example.graph):
        run = chain.in_tiles(size.band, size.columns, size.keeping)
        assert isinstance(run.op, Run)
        rows = run.op.row_calls(run.inputs, run.outputs, isa)
        if not rows:
            continue
        tiling, tensors = run.op.tiling, [run.inputs[0], *(p.outputs[0] for p in chain.parts)]
        images = TileImages.of(tensors, tiling).every
        for tiled in rows[0].tiled:
            if (index := tiled.part) is None:
                continue
            op = run.op.convolutions[index]
            part = calls._Part(op, index, images[index], images[index + 1], tiling)
            patches = {patch.word: patch for patch in tiled.patches}
            first = filled_words(tiled.call.arguments)
            for number, tile in enumerate(tiling.tiles):
                words = filled_words(part.call(tile, isa).arguments)
                for at, (word, own) in enumerate(zip(first, words, strict=True)):
                    if isinstance(own, Scratch):
                        assert isinstance(word, Scratch) and word.size >= own.size
                    elif at in patches:
                        count = len(tiling.tiles)
                        assert patched(word, patches[at], number, count) == own, (number, at)
                    else:
                        assert word == own, (number, at)
