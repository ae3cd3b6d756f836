"""The search for groups."""

from __future__ import annotations

import pytest
from harness.commands import NETWORK

from cmcompiler.importer.boundary import expose_quantized
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.op import FEED
from cmcompiler.isa import Isa
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.reader import read_program


@pytest.mark.timeout(60)
@pytest.mark.parametrize("isa", Isa)
def test_it_ends_for_an_arena_of_a_few_bytes(isa: Isa) -> None:
    graph = build_graph(read_program(NETWORK.read_bytes()))
    assert make_plan(expose_quantized(graph), isa).least_bytes < 1024


@pytest.mark.parametrize("isa", Isa)
@pytest.mark.parametrize("io", ["program", "int8", "uint8"])
def test_rows_from_outside_always_come_into_a_stream(io: str, isa: Isa) -> None:
    graph = build_graph(read_program(NETWORK.read_bytes()), "forward", io)
    steps = make_plan(feed_rows(graph), isa).steps
    inside = {index + 1 + stage for index, step in enumerate(steps) for stage in range(step.stages)}
    feeds = {index for index, step in enumerate(steps) if step.kernel == FEED}
    assert feeds and feeds <= inside
