"""Plans for ExecuTorch's own runtime."""

from __future__ import annotations

import numpy as np
import pytest
from harness.calls import In, Out, program_calling

from cmcompiler.executorch.plan import make_executorch_plan
from cmcompiler.importer.build import build_graph
from cmcompiler.isa import Isa
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.methods import find_method

X = In(np.ones((2, 3), np.float32))
OUT = Out("float32", (2, 3))


@pytest.mark.parametrize(
    ("operator", "arguments", "is_exact"),
    [
        ("aten::sqrt.out", (X,), True),
        ("aten::add.Scalar_out", (X, 1.0, 1), True),
        ("aten::exp.out", (X,), False),
        ("aten::cos.out", (X,), False),
        ("aten::pow.Tensor_Scalar_out", (X, 2.5), False),
        ("aten::_softmax.out", (X, 1, False), False),
    ],
)
def test_functions_that_its_kernels_round_their_own_way_are_not_exact(
    operator, arguments, is_exact
):
    program = program_calling(operator, *arguments, OUT)
    graph = build_graph(program)
    plan = make_executorch_plan(find_method(program, "forward"), graph, Isa.SCALAR)
    assert [step.exact for step in plan.steps] == [is_exact]
    assert plan.exact == is_exact
    assert make_plan(graph, Isa.SCALAR).exact
