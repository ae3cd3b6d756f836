from __future__ import annotations

from harness.commands import NETWORK

from cmbuild.firmware.peak import describe_peak
from cmcompiler.importer.build import build_graph
from cmcompiler.isa import Isa
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.reader import read_program


def test_it_names_step_tensors_and_floats():
    graph = build_graph(read_program(NETWORK.read_bytes()))
    plan = make_plan(graph, Isa.MVE, PlanOptions(streams=False))
    names = [f"layer{index}" for index in range(len(plan.steps))]
    text = describe_peak(plan, names)
    assert plan.peak is not None and text is not None
    step = plan.peak.step
    assert text.startswith(f"step {step + 1} of {len(plan.steps)}, layer{step} (")
    floats = [t for t in plan.peak.tensors if t.dtype.kind == "f"]
    assert text.count("(float)") == len(floats) > 0
    for tensor in plan.peak.tensors:
        assert f"{tensor.nbytes:,}" in text
    assert "input_0 1×" in text
