"""Streams on every runtime give the bits of whole tensors, and touch only the rows they may."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from harness.examples import Example
from harness.image_graphs import image_graphs, two_pools
from harness.images import kernel_harness
from harness.runtime import Runtime, case_of, first_mistake
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ir.op import Reach
from cmcompiler.isa import Isa
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.planner import make_plan


def streamed(example: Example, isa: Isa) -> Plan:
    """The plan with the least memory, at any cost."""
    return make_plan(example.graph, isa, surcharge=float("inf"))


@settings(max_examples=6)
@given(st.lists(image_graphs(), min_size=1, max_size=30))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    cases = [case_of(streamed(example, runtime.isa), example) for example in examples]
    results = runtime.execute(cases)
    wrong = [first_mistake(*each) for each in zip(cases, examples, results, strict=True)]
    assert not any(wrong), wrong


@pytest.mark.parametrize(("low", "high"), [(1, 2), (0, 1), (-1, 1), (1, 3)])
@pytest.mark.parametrize("stage", [0, 1])
def test_a_row_too_early_or_too_late_is_caught(
    stage: int, low: int, high: int, tmp_path: Path
) -> None:
    """With a fence that leaves out a row that the stage has to read."""
    runtime = Runtime(kernel_harness("native", "scalar", tmp_path), Isa.SCALAR, tmp_path)
    example = two_pools()
    plan = streamed(example, runtime.isa)
    assert [step.stages for step in plan.steps] == [2, 0, 0]
    steps = list(plan.steps)
    reads, writes = steps[1 + stage].fences
    steps[1 + stage] = replace(
        steps[1 + stage], fences=(replace(reads, reach=Reach(1, low, high)), writes)
    )
    with pytest.raises(AssertionError, match="use-after-poison"):
        runtime.execute([case_of(replace(plan, steps=tuple(steps)), example)])
