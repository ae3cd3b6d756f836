"""Arena layouts never overlap in space and time, and are as small as they can be."""

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from cmcompiler.plan.arena import (
    ArenaBlock,
    ArenaLayout,
    BlockUse,
    Steps,
    aligned,
    in_use,
    lower_bound,
    place,
)

STEPS = 12


@st.composite
def blocks(draw: st.DrawFn) -> ArenaBlock:
    """One to three pieces, each taking over from the previous one while both are in use."""
    pieces, first, size = [], draw(st.integers(-1, STEPS)), draw(st.integers(0, 5000))
    for _ in range(draw(st.integers(1, 3))):
        last = draw(st.integers(first, STEPS + 1))
        pieces.append(BlockUse(first, last, size))
        first, size = last, draw(st.integers(0, size))
    return ArenaBlock(tuple(pieces))


def overlaps(left: tuple[int, BlockUse], right: tuple[int, BlockUse]) -> bool:
    (a, p), (b, q) = left, right
    in_time = p.first <= q.last and q.first <= p.last
    return in_time and a < b + q.size and b < a + p.size and min(p.size, q.size) > 0


def assert_valid(blocks: list[ArenaBlock], layout: ArenaLayout) -> None:
    placed = list(zip(layout.offsets, blocks, strict=True))
    assert all(offset % 16 == 0 for offset in layout.offsets)
    assert all(offset + block.size <= layout.size for offset, block in placed)
    for (a, left), (b, right) in combinations(placed, 2):
        assert not any(overlaps((a, p), (b, q)) for p in left.pieces for q in right.pieces)


@given(st.lists(blocks(), max_size=24))
def test_layouts_are_valid_and_repeatable(cases: list[ArenaBlock]) -> None:
    layout = place(cases)
    assert_valid(cases, layout)
    assert lower_bound(cases) <= layout.size <= sum(aligned(block.size) for block in cases)
    assert layout == place(cases)


@given(st.lists(st.integers(1, 5000), min_size=2, max_size=40))
def test_a_chain_needs_its_largest_pair(sizes: list[int]) -> None:
    chain = [ArenaBlock((BlockUse(step - 1, step, size),)) for step, size in enumerate(sizes)]
    assert place(chain).size == max(aligned(a) + aligned(b) for a, b in pairwise(sizes))


def test_a_smaller_successor_frees_the_rest_of_its_block() -> None:
    """A float input quantised in place frees three quarters for what comes next."""
    image = ArenaBlock((BlockUse(-1, 0, 4000), BlockUse(0, 2, 1000)))
    features = ArenaBlock((BlockUse(1, 3, 2000),))
    layout = place([image, features])
    assert_valid([image, features], layout)
    assert layout.size == 4000


def test_nothing_needs_nothing() -> None:
    assert place([]) == ArenaLayout((), 0)


def test_an_order_by_size_alone_would_miss_the_bound() -> None:
    """Two long-lived blocks that overlap different large ones: only some orders avoid a hole."""
    cases = [
        ArenaBlock((BlockUse(0, 1, 3200),)),
        ArenaBlock((BlockUse(1, 2, 1600),)),
        ArenaBlock((BlockUse(2, 3, 3200),)),
        ArenaBlock((BlockUse(3, 4, 4800),)),
        ArenaBlock((BlockUse(0, 4, 480),)),
        ArenaBlock((BlockUse(2, 2, 160),)),
    ]
    layout = place(cases)
    assert_valid(cases, layout)
    assert layout.size == lower_bound(cases)


@given(st.lists(blocks(), max_size=24), st.integers(-1, STEPS + 2))
def test_bytes_in_use_are_those_of_the_blocks(cases: list[ArenaBlock], step: int) -> None:
    assert Steps(in_use(cases)).at(step) == sum(
        end - start for start, end in (block.used_at(step) for block in cases)
    )
