"""Branches on every runtime skip exactly the steps that the reference skips."""

from __future__ import annotations

from itertools import product

from harness.branches import branched
from harness.runtime import Machine, Runtime

from cmcompiler.emit.harness_batch import Case
from cmcompiler.plan.planner import make_plan

WAYS = list(product([True, False], [True, False], [1, -1]))


def test_every_way_gives_what_the_reference_gives(runtime: Runtime) -> None:
    runtime.check(*(branched(*way) for way in WAYS))


def test_steps_that_are_left_out_take_no_time(machine: Machine) -> None:
    example = branched(True, False)
    plan = make_plan(example.graph, machine.isa)
    (result,) = machine.execute([Case.of(plan, example.inputs)])
    kept = example.reference.tensors
    for step, ticks in zip(plan.steps, result.ticks, strict=True):
        if step.writes and step.writes[0] not in kept:
            assert ticks == 0, step.source
