"""The project's own torch operators."""

from __future__ import annotations

import torch

from cmcompiler.frontend import operators
from cmcompiler.frontend.quantized_op import QUANTIZED


def test_own_operators_compute_in_float_and_have_a_lowering():
    operators.define()
    own = [operator for operator in QUANTIZED if operator.namespace == "cmbuild"]
    for operator in own:
        returned = [result.type for result in operator._schema.returns]
        assert returned and all(isinstance(each, torch.TensorType) for each in returned), operator
        assert operator.has_kernel_for_dispatch_key(torch._C.DispatchKey.CPU) or (
            operator.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeExplicitAutograd)
        ), operator
