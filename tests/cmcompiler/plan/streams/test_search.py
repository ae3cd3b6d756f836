"""The search for groups."""

from __future__ import annotations

import pytest
from harness.commands import NETWORK

from cmcompiler.importer.boundary import expose_quantized
from cmcompiler.importer.build import build_graph
from cmcompiler.isa import Isa
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.reader import read_program


@pytest.mark.timeout(60)
@pytest.mark.parametrize("isa", Isa)
def test_it_ends_for_an_arena_of_a_few_bytes(isa: Isa) -> None:
    graph = build_graph(read_program(NETWORK.read_bytes()))
    assert make_plan(expose_quantized(graph), isa).arena_bytes < 512
