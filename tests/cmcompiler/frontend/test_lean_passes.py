from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import nn

from cmcompiler.frontend import lowering
from cmcompiler.frontend.quantization import quantize
from cmcompiler.target import Target


class _Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(2, 4, 3)

    def forward(self, x):
        return self.convolution(x).relu()


class _Varied(nn.Module):
    """It has what each pass is for: views, transposes, indices, numbers, formats, mixed types."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        y = self.linear(x.view(6, 8)).t().reshape(1, 8, 6)
        y, places = y.max(dim=1)
        z = 1 - y.clone().contiguous() * 2
        return z, places, torch.max_pool2d(z.view(1, 1, 2, 3), 2).to(torch.int32) + 3


CASES = [(_Plain, (1, 2, 5, 5)), (_Varied, (1, 6, 8))]


@pytest.mark.parametrize("make, shape", CASES)
def test_programs_are_those_of_all_passes(make, shape, monkeypatch):
    torch.manual_seed(0)
    module, x = make().eval(), torch.linspace(-1, 1, 48 if len(shape) == 3 else 50).reshape(shape)
    programs = []
    for passes in (lowering.lean_passes, nullcontext):
        monkeypatch.setattr(lowering, "lean_passes", passes)
        quantized = quantize(module, (x,), [(x,)])
        programs.append(lowering.lower(quantized, Target.parse("cortex-m55")))
    assert programs[0] == programs[1]


def test_operators_registered_between_exports_are_listed():
    from torch.export import decomp_utils

    listed = decomp_utils._collect_all_valid_cia_ops
    library = torch.library.Library("lean", "FRAGMENT")
    with lowering.lean_passes():
        before = decomp_utils._collect_all_valid_cia_ops()
        assert before == listed()
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
        assert decomp_utils._collect_all_valid_cia_ops() == listed() > before
    assert decomp_utils._collect_all_valid_cia_ops is listed


def test_code_is_compiled_once_it_is_called_or_read():
    called, read, compiled = (torch.fx.symbolic_trace(nn.ReLU()) for _ in range(3))
    with lowering.lean_passes():
        for module in (called, read, compiled):
            (_, relu, _) = module.graph.nodes
            relu.target = torch.neg
            relu.kwargs = {}
            module.recompile()
            assert "_code" not in module.__dict__
        assert called(torch.ones(1)) == -1
        assert "torch.neg" in read.code
    compiled.recompile()
    assert compiled(torch.ones(1)) == read(torch.ones(1)) == -1
    assert all("torch.neg" in module.__dict__["_code"] for module in (called, read, compiled))


def test_passes_are_restored():
    from executorch.exir.passes.normalize_transpose_pass import NormalizeTransposePass

    before = NormalizeTransposePass.__call__
    with pytest.raises(ZeroDivisionError), lowering.lean_passes():
        assert NormalizeTransposePass.__call__ is not before
        raise ZeroDivisionError
    assert NormalizeTransposePass.__call__ is before
