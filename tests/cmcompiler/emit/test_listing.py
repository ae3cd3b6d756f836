"""A plan as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.commands import PROGRAMS

from cmcompiler.emit.folder import emit
from cmcompiler.emit.listing import listing
from cmcompiler.importer.build import build_graph
from cmcompiler.isa import Isa
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.reader import read_program


@pytest.mark.parametrize("name", ["network", "branches"])
def test_every_step_has_its_kernel_and_its_place(tmp_path: Path, name: str):
    graph = build_graph(read_program((PROGRAMS / f"{name}.pte").read_bytes()))
    record = emit(make_plan(graph, Isa.MVE), tmp_path)
    text = listing(record)
    assert text.startswith(f"plan of {record.model} for mve, identity {record.identity}\n")
    for index, step in enumerate(record.steps):
        assert f"\n{index:3} {step.title}  [{step.source}]\n    kernel  {step.kernel}" in text
        for tensor in step.writes:
            assert f"    writes  {tensor.name}: " in text
    assert max(map(len, text.splitlines())) < 120
