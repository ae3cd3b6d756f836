"""What lies in the arena during each step."""

from __future__ import annotations

import pytest
from harness.commands import NETWORK
from harness.toy import Sum, graph, node, tensor

from cmcompiler.importer.boundary import expose_quantized
from cmcompiler.importer.build import build_graph
from cmcompiler.isa import Isa
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.plan import ArenaUse
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.reader import read_program


def test_tensors_and_scratch_are_told_apart() -> None:
    x, y, z = tensor("x", 64), tensor("y", 60), tensor("z", 32)
    nodes = [node(Sum(scratch=(160, 30)), [x], [y]), node(Sum(), [y], [z])]
    plan = make_plan(graph(nodes, [x], [z]), Isa.SCALAR)
    assert plan.timeline == (ArenaUse(128, 0, 192), ArenaUse(96, 0, 0))


def test_a_graph_without_steps_has_none() -> None:
    x = tensor("x", 64)
    plan = make_plan(graph([], [x], [x]), Isa.SCALAR)
    assert plan.timeline == () and plan.peak is None


@pytest.mark.parametrize("isa", Isa)
@pytest.mark.parametrize("streams", [True, False])
def test_it_reaches_the_peak_and_stays_within_the_arena(isa: Isa, streams: bool) -> None:
    network = expose_quantized(build_graph(read_program(NETWORK.read_bytes())))
    plan = make_plan(network, isa, PlanOptions(streams))
    assert len(plan.timeline) == len(plan.steps)
    assert plan.peak is not None
    assert max(use.total for use in plan.timeline) == plan.peak.size
    assert plan.peak.size <= plan.arena_bytes - SLACK
    inside = [use.rings for use, step in zip(plan.timeline, plan.steps, strict=True) if step.stages]
    assert all(inside)
    if not streams:
        assert {use.rings for use in plan.timeline} == {0}
