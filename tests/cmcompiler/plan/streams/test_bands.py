"""The bands of single stages."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest
from harness.examples import Example
from harness.image_graphs import image_graphs, two_pools
from hypothesis import given, settings

from cmcompiler.ir.graph import Graph
from cmcompiler.isa import Isa
from cmcompiler.plan.draft import Draft
from cmcompiler.plan.streams.bands import Bands
from cmcompiler.plan.streams.grouping import Computation, Grouping
from cmcompiler.plan.streams.stream import Stream
from cmcompiler.plan.way import Way

FEW = 4


def groups(graph: Graph, isa: Isa) -> tuple[Draft, Bands, list[Stream]]:
    """Some groups of the graph, with stages that make one row at once."""
    way = Way(graph, isa)
    whole = way.whole
    computation = Computation(graph, whole.storage, whole.calls, way.row_calls, isa)
    grouping = Grouping(computation)
    collected = []
    for end in range(1, len(graph.nodes) + 1):
        for start in grouping.starts(end, 1 << 30):
            bands = tuple(1 for _ in grouping.calls(start, end))
            if stream := grouping.make(start, end, bands):
                collected.append(stream)
    return whole, Bands(computation, grouping), collected[-FEW:]


@pytest.mark.parametrize("isa", Isa)
@settings(max_examples=4)
@given(example=image_graphs())
def test_more_memory_takes_fewer_instructions_within_the_limit(example: Example, isa: Isa) -> None:
    _, bands, streams = groups(example.graph, isa)
    for stream in streams:
        cost = inf
        for more in (0, 256, 4096, 1 << 16):
            limit = stream.bytes + more
            refined = bands.refined(stream, limit)
            assert refined.group.nodes == stream.group.nodes
            assert refined.bytes <= limit
            assert bands.cost(refined, limit) <= bands.cost(stream, limit)
            # The search is greedy, so a little more memory may mislead it.
            assert more < 1 << 16 or bands.cost(refined, limit) <= cost
            cost = min(cost, bands.cost(refined, limit))


@pytest.mark.parametrize("isa", Isa)
def test_what_needs_more_than_the_limit_stays_as_it_is(isa: Isa) -> None:
    _, bands, streams = groups(two_pools().graph, isa)
    for stream in streams:
        assert bands.cost(stream, stream.bytes - 1) == inf
        assert bands.refined(stream, stream.bytes - 1) is stream
    assert streams


@settings(max_examples=8)
@given(example=image_graphs())
def test_a_larger_arena_has_room_for_scratch(example: Example) -> None:
    whole, _, streams = groups(example.graph, Isa.DSP)
    for stream in streams:
        draft = replace(whole, streams=(stream,))
        for size in (draft.size, draft.size + 512, 2 * draft.size):
            larger = draft.enlarged(size)
            assert larger.size <= size
            assert larger.surcharge <= draft.surcharge
