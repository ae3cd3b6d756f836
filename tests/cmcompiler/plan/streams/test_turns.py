"""No turn of a stage reads a row that is not made yet, or that another one has overwritten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from harness.examples import Example
from harness.image_graphs import image_graphs, two_pools, viewed
from harness.streamed import fed, streamed
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cmcompiler.ir.op import RowCall
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.plan.plan import Fence, Plan, PlanStep
from cmcompiler.plan.scratch import call_scratch
from cmcompiler.plan.streams.stream import Stream
from cmcompiler.plan.streams.turns import turns


def rows_touched(fence: Fence, start: int, end: int) -> Iterator[int]:
    reach = fence.reach
    for row in range(max(reach.first(start), 0), min(reach.end(end), fence.height)):
        yield fence.ref.offset + row % fence.ring * fence.row_bytes, row


def is_kept(call: RowCall) -> list[bool]:
    """Of each piece of a call's scratch: whether it stays from turn to turn."""
    return [piece.kept for piece in call_scratch(call.call)]


def replay(plan: Plan, stream: Stream, stages: tuple[PlanStep, ...]) -> int:
    """Takes all turns on an arena whose bytes hold the number of the row that lies there."""
    arena = np.zeros((plan.arena_bytes, 2), np.int64)
    inputs = set(stream.group.readers) - set(stream.group.writers)
    names: dict[Tensor, int] = {}
    for number, tensor in enumerate((*inputs, *stream.group.writers), 1):
        names[tensor] = number
    for tensor in inputs:
        size, place = tensor.nbytes // tensor.shape[1], plan.places[tensor].offset
        for row in range(tensor.shape[1]):
            arena[place + row * size : place + (row + 1) * size] = names[tensor], row
    count = 0
    for turn in turns(stream.group):
        stage, step = stream.group.stages[turn.stage], stages[turn.stage]
        start, end = turn.rows(stream.group)
        kept = is_kept(stage.call)
        for span, stays in zip(step.scratch, kept, strict=True):
            held = arena[span.ref.offset : span.ref.offset + span.size]
            assert not stays or start == 0 or (held == (-1, turn.stage)).all(), turn
            held[:] = (-1, turn.stage) if stays else (-2, 0)
        reads = step.fences[: len(stage.call.reads)]
        for tensor, fence in zip(stage.call.reads, reads, strict=True):
            for place, row in rows_touched(fence, start, end):
                held = arena[place : place + fence.row_bytes]
                assert (held == (names[tensor], row)).all(), (tensor, row, turn)
        for writes in step.fences[len(reads) :]:
            for place, row in rows_touched(writes, start, end):
                arena[place : place + writes.row_bytes] = names[stage.output], row
        count += 1
    return count


@settings(max_examples=60)
@given(image_graphs(), st.sampled_from(list(Isa)), st.booleans())
def test_rows_are_there_when_they_are_read(example: Example, isa: Isa, upward: bool) -> None:
    plan, streams = streamed(example, isa, upward)
    heads = [index for index, step in enumerate(plan.steps) if step.stages]
    for head, stream in zip(heads, streams, strict=True):
        stages = plan.steps[head + 1 : head + 1 + plan.steps[head].stages]
        assert replay(plan, stream, stages) == stream.turns


@settings(max_examples=20)
@given(image_graphs(), st.sampled_from(list(Isa)), st.booleans())
def test_rows_of_a_view_are_there_when_they_are_read(
    example: Example, isa: Isa, upward: bool
) -> None:
    plan, streams = streamed(viewed(example), isa, upward)
    heads = [index for index, step in enumerate(plan.steps) if step.stages]
    for head, stream in zip(heads, streams, strict=True):
        stages = plan.steps[head + 1 : head + 1 + plan.steps[head].stages]
        assert replay(plan, stream, stages) == stream.turns


@pytest.mark.parametrize("isa", Isa)
def test_rows_take_the_place_of_those_of_a_viewed_input(isa: Isa) -> None:
    example = two_pools(keep=False)
    known, (plain,) = streamed(example, isa)
    viewing, (stream,) = streamed(viewed(example), isa)
    assert viewing.arena_bytes == known.arena_bytes
    assert stream.takeover is not None and stream.takeover == plain.takeover


@settings(max_examples=40)
@given(image_graphs(), st.sampled_from(list(Isa)))
def test_rows_from_outside_are_there_when_they_are_read(example: Example, isa: Isa) -> None:
    actual = fed(example, isa)
    assume(actual is not None)
    _, plan, streams = actual
    head = next(index for index, step in enumerate(plan.steps) if step.kernel == "feed") - 1
    stages = plan.steps[head + 1 : head + 1 + plan.steps[head].stages]
    stream = next(s for s in streams if len(s.group.stages) == len(stages))
    assert replay(plan, stream, stages) == stream.turns
    assert all(step.kernel != "feed" for step in plan.steps[head + 2 :])


def test_a_ring_of_fewer_rows_would_lose_one() -> None:
    """The replay sees what it is there for."""
    plan, (stream,) = streamed(two_pools(), Isa.SCALAR)
    head, *stages = plan.steps
    assert replay(plan, stream, tuple(stages)) == stream.turns
    shrunk = [replace(s, fences=tuple(_shrink(f) for f in s.fences)) for s in stages]
    with pytest.raises(AssertionError):
        replay(plan, stream, tuple(shrunk))
    assert head.stages == len(stages)


def _shrink(fence: Fence) -> Fence:
    return fence if fence.ring == fence.height else replace(fence, ring=fence.ring - 1)
