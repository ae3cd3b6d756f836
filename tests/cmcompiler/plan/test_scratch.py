"""Scratch that grows into free memory: never overlaps, never enlarges the arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from harness.programs import program_graph
from harness.toy import Sum, graph, node, tensor

from cmcompiler.ir.op import Address, GrowableScratch, KernelCall, Op, Scratch, ScratchCount
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.plan import Plan, PlanStep
from cmcompiler.plan.planner import make_plan

BASE = 48
"""Bytes besides units."""


@dataclass(frozen=True)
class Roomy(Op):
    label = "roomy"
    most: int

    def reference(self, *inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        return (inputs[0],)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        arguments = [
            ("count", ScratchCount(2)),
            ("input", Address(inputs[0])),
            ("output", Address(outputs[0])),
            ("fixed", Scratch(16)),
            ("none", Scratch(0)),
            ("room", GrowableScratch(32, self.most, BASE)),
            ("more", Scratch(16)),
        ]
        return [KernelCall("roomy", arguments)]


def planned(most: int, peak: int) -> tuple[Plan, PlanStep]:
    """A step that needs 64 + 64 + 16 + 16 bytes and the scratch, after one with 64 + `peak`."""
    x, y, z = tensor("x", 64), tensor("y", 64), tensor("z", 64)
    nodes = [node(Sum(scratch=(peak,)), [x], [y]), node(Roomy(most), [y], [z])]
    plan = make_plan(graph(nodes, [x], [z]), Isa.SCALAR)
    return plan, next(step for step in plan.steps if step.kernel == "roomy")


def spans(plan: Plan, step: PlanStep) -> list[tuple[int, int]]:
    """Bytes in use during the step."""
    held = [(plan.places[t].offset, t.nbytes) for t in plan.places if t.name in ("y", "z")]
    held += [(span.ref.offset, span.size) for span in step.scratch]
    return sorted((start, start + size) for start, size in held if size)


@pytest.mark.parametrize("peak", [16, 64, 160, 1000])
@pytest.mark.parametrize("most", [1, 3, 100])
def test_takes_what_is_free(most: int, peak: int) -> None:
    plan, step = planned(most, peak)
    least = 64 + 64 + 16 + 16 + BASE + 32
    assert plan.arena_bytes == max(least, 128 + -(-peak // 16) * 16) + SLACK
    (count,) = (argument.value for argument in step.arguments if argument.name == "count")
    size = step.scratch[2].size
    assert count == 2 * (size - BASE) // 32
    assert 32 <= size - BASE <= 32 * most
    used = spans(plan, step)
    assert all(end <= start for (_, end), (start, _) in pairwise(used))
    assert used[-1][1] <= plan.arena_bytes - SLACK


def test_it_holds_a_lot_beside_a_high_peak() -> None:
    _, step = planned(100, 1000)
    assert step.scratch[2].size >= 256


@pytest.mark.parametrize("isa", Isa)
def test_no_convolution_makes_the_arena_larger_for_its_patches(isa: Isa) -> None:
    plan = make_plan(program_graph("network"), isa)
    (step,) = (step for step in plan.steps if step.kernel.startswith("conv2d"))
    values = {argument.name: argument.value for argument in step.arguments}
    assert isinstance(values["patch_count"], int) and values["patch_count"] >= 2
    _, patches = step.scratch
    assert patches.size == np.multiply(values["patch_count"], values["patch_stride"])
