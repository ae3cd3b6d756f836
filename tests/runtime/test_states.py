"""Mutable buffers on every runtime: values carried between runs, and resets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from harness.programs import program_graph
from harness.runtime import Machine
from harness.states import NAMES, expected, samples

from cmcompiler.emit.harness_batch import Case, to_array
from cmcompiler.plan.planner import make_plan

SAMPLES = 5
RESET = 3


def cases(machine: Machine, name: str) -> list[Case]:
    """Consecutive runs, one of which resets the states."""
    plan = make_plan(program_graph(name), machine.isa)
    return [
        replace(Case.of(plan, sample), continues=number not in (0, RESET))
        for number, sample in enumerate(samples(name, SAMPLES))
    ]


def test_each_run_begins_with_what_the_one_before_has_left(machine: Machine) -> None:
    batch = [case for name in NAMES for case in cases(machine, name)]
    results = iter(zip(batch, machine.execute(batch), strict=True))
    for name in NAMES:
        sequence = samples(name, SAMPLES)
        right = expected(name, sequence[:RESET]) + expected(name, sequence[RESET:])
        for number, outputs in enumerate(right):
            case, result = next(results)
            for port, data, wanted in zip(case.plan.outputs, result.outputs, outputs, strict=True):
                actual = port.to_logical(to_array(data, port.tensor))
                np.testing.assert_array_equal(actual, wanted, f"{name}, sample {number}")
