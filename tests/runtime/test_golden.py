"""The kernels match the reference on every supported program of the golden set."""

from __future__ import annotations

import pytest
from harness.examples import Example
from harness.golden import golden
from harness.runtime import Machine, Runtime

from cmcompiler.importer.build import build_graph
from cmcompiler.pte.reader import read_program

MACHINES = ("native", "scalar", "dsp", "mve")
PARTS = 8
"""Of the set, so that a busy machine does not run into the limit of time."""


def runs() -> list[object]:
    """Each machine with each part; without --long, with one that no other machine has."""
    return [
        pytest.param(name, part, marks=[pytest.mark.long] if part != own else [])
        for own, name in enumerate(MACHINES)
        for part in range(PARTS)
    ]


@pytest.mark.parametrize(("machine", "part"), runs(), indirect=["machine"])
def test_kernels_equal_the_reference(machine: Machine, part: int) -> None:
    examples = []
    for case in golden()[part::PARTS]:
        if case.is_known:
            graph = build_graph(read_program(case.data))
            name = f"{case.name}, {{}} inputs"
            examples += [
                Example(graph, sample.inputs, name.format(sample.kind)) for sample in case.samples
            ]
    Runtime(machine).check(*examples)
