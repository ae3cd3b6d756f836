"""Streams on every runtime give the bits of whole tensors, and touch only the rows they may."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from harness.examples import Example
from harness.image_graphs import image_graphs, two_pools, viewed
from harness.images import kernel_harness
from harness.runtime import Machine, Runtime, case_of
from harness.streamed import fed, streamed
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ir.op import Reach
from cmcompiler.isa import Isa


@settings(max_examples=6)
@given(st.lists(image_graphs(), min_size=1, max_size=30), st.booleans())
def test_every_runtime_equals_the_reference(
    runtime: Runtime, examples: list[Example], upward: bool
) -> None:
    examples = [*examples, *map(viewed, examples[:5])]
    runtime.check_plans(
        [(streamed(each, isa, upward)[0], each) for isa in runtime.isas for each in examples]
    )


@settings(max_examples=4)
@given(st.lists(image_graphs(), min_size=1, max_size=30), st.booleans())
def test_rows_that_come_and_go_one_by_one(
    runtime: Runtime, examples: list[Example], drain: bool
) -> None:
    tried = [fed(example, isa, drain) for isa in runtime.isas for example in examples]
    planned = [(plan, changed) for each in tried if each for changed, plan, _ in (each,)]
    images = [plan for plan, _ in planned if len(plan.outputs[0].tensor.shape) == 4]
    if drain and any(plan.outputs[0].tensor.shape[1] > 1 for plan in images):
        assert any(port.fed for plan in images for port in plan.outputs)
    runtime.check_plans(planned)


def test_a_row_from_outside_in_a_wrong_place_is_caught(tmp_path: Path) -> None:
    machine = Machine("native", kernel_harness("native", "scalar", tmp_path), Isa.SCALAR, tmp_path)
    example, plan, _ = fed(two_pools(keep=False), machine.isa)
    steps = list(plan.steps)
    assert [step.kernel for step in steps[:2]] == ["stream", "feed"]
    (writes,) = steps[1].fences
    steps[1] = replace(steps[1], fences=(replace(writes, reach=Reach(1, 1, 1)),))
    with pytest.raises(AssertionError, match="use-after-poison"):
        machine.execute([case_of(replace(plan, steps=tuple(steps)), example)])


@pytest.mark.parametrize(("low", "high"), [(1, 2), (0, 1), (-1, 1), (1, 3)])
@pytest.mark.parametrize("stage", [0, 1])
def test_a_row_too_early_or_too_late_is_caught(
    stage: int, low: int, high: int, tmp_path: Path
) -> None:
    """With a fence that leaves out a row that the stage has to read."""
    machine = Machine("native", kernel_harness("native", "scalar", tmp_path), Isa.SCALAR, tmp_path)
    example = two_pools()
    plan, _ = streamed(example, machine.isa)
    assert [step.stages for step in plan.steps] == [2, 0, 0]
    steps = list(plan.steps)
    reads, writes = steps[1 + stage].fences
    steps[1 + stage] = replace(
        steps[1 + stage], fences=(replace(reads, reach=Reach(1, low, high)), writes)
    )
    with pytest.raises(AssertionError, match="use-after-poison"):
        machine.execute([case_of(replace(plan, steps=tuple(steps)), example)])
