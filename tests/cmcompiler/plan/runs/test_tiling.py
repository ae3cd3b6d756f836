"""A tile takes the rows and columns that its windows see, and no others."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from cmcompiler.ops.support.window import Window
from cmcompiler.plan.runs.tiling import Keeping, Tiling, pixels_made, rows_made


@st.composite
def tilings(draw: st.DrawFn, kept: bool = False) -> Tiling:
    sizes = [(draw(st.integers(4, 20)), draw(st.integers(4, 20)))]
    windows = []
    for _ in range(draw(st.integers(1, 3))):
        side, stride = draw(st.sampled_from([1, 2, 3, 5])), draw(st.sampled_from([1, 2]))
        padding = draw(st.sampled_from([side // 2, 0]))
        window = Window((side, side), (stride, stride), (padding, padding))
        size = window.output_size(sizes[-1])
        assume(min(size) > 0)
        windows.append(window)
        sizes.append(size)
    band, columns = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    keeping = draw(st.sampled_from(list(Keeping))) if kept else Keeping.NOTHING
    return Tiling(tuple(windows), tuple(sizes), band, columns, keeping)


def seen(tiling: Tiling, axis: int, made: set[int], part: int) -> set[int]:
    """The rows or columns that an operator reads for some of its results."""
    window, length = tiling.windows[part], tiling.sizes[part][axis]
    starts = (place * window.stride[axis] - window.padding[axis] for place in made)
    every = {start + tap for start in starts for tap in range(window.kernel[axis])}
    return {place for place in every if 0 <= place < length}


@given(tilings())
def test_tiles_hold_what_their_windows_see(tiling: Tiling) -> None:
    last = [tile.seen[-1] for tile in tiling.tiles]
    assert [x for columns in last for x in columns] == list(range(tiling.sizes[-1][1]))
    for tile in tiling.tiles:
        for part in range(len(tiling.windows)):
            columns = seen(tiling, 1, set(tile.made[part + 1]), part)
            assert columns <= set(tile.seen[part])
            assert not columns or len(tile.seen[part]) <= tiling.widths[part]
            window = tiling.windows[part]
            left = tile.made[part + 1].start * window.stride[1] - window.padding[1]
            assert tiling.padding(tile, part) == tile.seen[part].start - left


@given(tilings())
def test_bands_take_the_rows_of_all_windows_between(tiling: Tiling) -> None:
    height = tiling.sizes[-1][0]
    counts = [0] * len(tiling.sizes)
    for start in range(0, height, tiling.band):
        rows = set(range(start, min(start + tiling.band, height)))
        for part in reversed(range(len(tiling.windows))):
            rows = seen(tiling, 0, rows, part)
            reach = tiling.seen[part]
            end = min(start + tiling.band, height)
            taken = set(
                range(max(reach.first(start), 0), min(reach.end(end), tiling.sizes[part][0]))
            )
            assert rows <= taken and len(taken) <= tiling.heights[part]
            counts[part] += len(taken)
    assert [rows_made(tiling, image) for image in range(len(counts) - 1)] == counts[:-1]
    every = sum(len(tile.made[0]) for tile in tiling.tiles)
    assert pixels_made(tiling, 0) == counts[0] * every


@given(tilings(kept=True))
def test_rows_that_windows_see_are_made_or_kept(tiling: Tiling) -> None:
    """Also by bands above the first row of the output."""
    known: list[set[int]] = [set() for _ in tiling.sizes]
    for band in tiling.bands:
        for part in range(len(tiling.windows)):
            made, (height, _) = tiling.made[part], tiling.sizes[part]
            new = range(max(made.first(band.start), 0), min(made.end(band.stop), height))
            before = sorted(known[part], reverse=True)[: tiling.kept_rows(part)]
            known[part] = {*before, *new}
            later, (below, _) = tiling.made[part + 1], tiling.sizes[part + 1]
            rows = range(max(later.first(band.start), 0), min(later.end(band.stop), below))
            wanted = seen(tiling, 0, set(rows), part)
            assert wanted <= known[part] and len(wanted) <= tiling.heights[part]
