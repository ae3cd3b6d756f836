"""Runs on every runtime give the bits of whole tensors, and touch only the rows they may."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from harness.convolutions import Numbers
from harness.examples import Example
from harness.images import kernel_harness
from harness.run_graphs import Tiles, bottlenecks, in_runs, run_graphs, tile_sizes
from harness.runtime import Machine, Runtime, case_of
from harness.streamed import fed, streamed
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ir.op import TILES
from cmcompiler.isa import Isa
from cmcompiler.plan.plan import Fence

Drawn = tuple[Example, list[Tiles], bool]
"""A graph, the tiles of its runs in turn, and whether its input comes row by row."""

drawn = st.tuples(run_graphs(), st.lists(tile_sizes, min_size=1, max_size=3), st.booleans())


@settings(max_examples=3)
@given(st.lists(drawn, min_size=1, max_size=15))
def test_every_runtime_equals_the_reference(runtime: Runtime, every: list[Drawn]) -> None:
    planned = []
    for isa, (example, tiles, by_rows) in product(runtime.isas, every):
        changed, count = in_runs(example, isa, tiles)
        by_row = fed(changed, isa) if by_rows else None
        changed, plan, _ = by_row or (changed, *streamed(changed, isa))
        assert sum(step.kernel == TILES for step in plan.steps) == count
        # The graph with runs is held against the one without.
        planned.append((plan, _expecting(changed, example)))
    runtime.check_plans(planned)


def _expecting(changed: Example, original: Example) -> Example:
    changed.__dict__["reference"] = original.reference
    return changed


@pytest.mark.parametrize("call", [1, 2, 3])
@pytest.mark.parametrize("change", ["narrow", "low"])
def test_a_tile_too_small_is_caught(call: int, change: str, tmp_path: Path) -> None:
    """With fences around fewer columns or rows than the calls of the run touch."""
    machine = Machine("native", kernel_harness("native", "scalar", tmp_path), Isa.SCALAR, tmp_path)
    graph = bottlenecks(1)
    images = Numbers(1).int8(*graph.inputs[0].tensor.shape)
    example, count = in_runs(Example(graph, (images,)), machine.isa, [Tiles(2, 4)])
    plan, _ = streamed(example, machine.isa)
    assert count == 1 and [step.stages for step in plan.steps] == [4, 0, 0, 0, 0]
    steps = list(plan.steps)
    fences = tuple(map(_narrower if change == "narrow" else _lower, steps[1 + call].fences))
    steps[1 + call] = replace(steps[1 + call], fences=fences)
    with pytest.raises(AssertionError, match="use-after-poison"):
        machine.execute([case_of(replace(plan, steps=tuple(steps)), example)])


def _narrower(fence: Fence) -> Fence:
    return replace(fence, row_bytes=fence.row_bytes - 16)


def _lower(fence: Fence) -> Fence:
    """Without the last of the rows that a call takes."""
    return replace(fence, reach=replace(fence.reach, high=fence.reach.high - 1))
