"""First operators in vertical strips give the bits of whole images, on every runtime."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from harness.convolutions import Numbers
from harness.examples import Example
from harness.run_graphs import bottlenecks
from harness.runtime import Runtime
from harness.streamed import streamed

from cmcompiler.ir.graph import Graph
from cmcompiler.ir.op import FEED
from cmcompiler.isa import Isa
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.runs.run import Run
from cmcompiler.plan.strip_ways import with_runs
from cmcompiler.plan.strips import every_strips
from cmcompiler.plan.way import Way


def in_strips(graph: Graph) -> list[Graph]:
    return [strips.striped for strips in every_strips(feed_rows(graph))]


def in_runs(graph: Graph, isa: Isa) -> Iterator[Graph]:
    """Strips in some sets of runs each."""
    for strips in [*every_strips(feed_rows(graph))][-6:-2:3]:
        widest = Way(strips.widest, isa)
        for runs in widest.run_costs(widest.search.least_peak * 7 // 8):
            made = with_runs(strips, runs, isa)
            if made is not None:
                yield made


def test_every_runtime_equals_the_reference(runtime: Runtime) -> None:
    whole = bottlenecks(3, sums=True)
    example = Example(whole, (Numbers(1).int8(*whole.inputs[0].tensor.shape),))
    strips, planned = in_strips(whole)[2::12], []
    for isa in runtime.isas:
        graphs = [*strips, *islice(in_runs(whole, isa), 0, None, 2)]
        assert any(isinstance(node.op, Run) for graph in graphs for node in graph.nodes)
        for graph in graphs:
            changed = replace(example, graph=graph)
            changed.__dict__["reference"] = example.reference
            plan, _ = streamed(changed, isa)
            assert sum(step.kernel == FEED for step in plan.steps) > 1
            planned.append((plan, changed))
    runtime.check_plans(planned)
