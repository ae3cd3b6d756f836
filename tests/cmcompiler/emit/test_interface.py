"""Names of a package's inputs and outputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.toy import Sum, graph, node, tensor

from cmcompiler.emit.files import read_record
from cmcompiler.emit.folder import emit
from cmcompiler.emit.interface import PackageInterface
from cmcompiler.errors import Unsupported
from cmcompiler.isa import Isa
from cmcompiler.plan.planner import make_plan
from cmcompiler.plan.record import PlanRecord


@pytest.fixture
def plan(tmp_path: Path) -> PlanRecord:
    x, y, z = tensor("x", 32), tensor("y", 32), tensor("z", 32)
    toy = graph([node(Sum(), [x], [y]), node(Sum(), [y], [z])], [x], [y, z])
    emit(make_plan(toy, Isa.SCALAR), tmp_path, name="kws")
    return read_record(tmp_path)


@pytest.mark.parametrize(
    ("outputs", "symbols"),
    [
        (("boxes", "class scores"), ("kws_output_boxes", "kws_output_class_scores")),
        (("a b", "a-B"), ("kws_output_a_b", "kws_output_a_B_2")),
        (("", "aux"), ("kws_output_0", "kws_output_aux")),
        (("one too few",), ("kws_output_0", "kws_output_1")),
    ],
)
def test_keys_of_the_model_name_functions(
    plan: PlanRecord, outputs: tuple[str, ...], symbols: tuple[str, ...]
) -> None:
    made = PackageInterface.of(plan, outputs=outputs)
    assert tuple(port.symbol for port in made.outputs) == symbols
    header = made.header()
    assert all(f"*{symbol}(const struct kws *model);" in header for symbol in symbols)


def test_a_type_that_c_does_not_have_is_refused(plan: PlanRecord) -> None:
    half = plan.inputs[0].model_copy(update={"dtype": "float16"})
    with pytest.raises(Unsupported, match=r"\w+ is float16, which C does not have"):
        PackageInterface.of(plan.model_copy(update={"inputs": (half,)}))
