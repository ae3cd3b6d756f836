from __future__ import annotations

import pytest
import torch
from torch import nn

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.lowering import lower_with_nodes
from cmcompiler.frontend.portability import lacking
from cmcompiler.frontend.quantization import quantize
from cmcompiler.target import Target


def test_operators_of_other_namespaces_are_lacking():
    names = ["aten::add.out", "mine::b.out", "mine::a.out", "mine::a.Scalar_out", "cortex_m::x"]
    assert lacking(names) == ("mine::a", "mine::b")


def test_a_portable_program_keeps_to_the_runtimes_operators():
    """It leaves the norm in float; the function stays a table, which the runtime has."""
    module = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Softplus(), nn.Linear(8, 4)).eval()
    x = (torch.linspace(-1, 1, 8).reshape(1, 8),)
    own, portable = (quantize(module, x, [x], is_portable=flag) for flag in (False, True))
    target = Target.parse("cortex-m55")
    assert lower_with_nodes(own, target).lacking == ("cmbuild::quantized_layer_norm",)
    assert own.float_operators == ()
    assert lower_with_nodes(portable, target).lacking == ()
    assert [left.operator for left in portable.float_operators] == ["aten.layer_norm.default"]


@pytest.mark.parametrize("precision", ["8w16a", "4w16a", "16w16a"])
def test_int16_activations_are_refused(precision: str) -> None:
    x = (torch.ones(1, 8),)
    with pytest.raises(Unsupported, match=r"does not have .*cmbuild::short_linear$"):
        quantize(nn.Linear(8, 4), x, [x], is_portable=True, precision=[("*", precision)])
