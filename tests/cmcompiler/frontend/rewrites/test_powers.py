"""Powers of two tensors written out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.frontend.rewrites.powers import write_out_powers
from cmcompiler.ir.arithmetic import Arithmetic, arithmetics

X = torch.linspace(0, 3, 12).reshape(3, 4)
EXPONENTS = torch.tensor([0.5, 1.5, 2.25, 2.5])

SPELLED: dict[str, tuple[Callable[[Tensor], Tensor], str]] = {
    "one exponent": (lambda x: x ** torch.full((4,), 2.5), "pow.Tensor_Scalar"),
    "exponents": (lambda x: x**EXPONENTS, "exp.default"),
    "bases": (lambda x: EXPONENTS**x, "exp.default"),
}


@pytest.mark.parametrize("name", SPELLED)
def test_spelled(name: str) -> None:
    compute, operator = SPELLED[name]
    made = targets(rewritten(Function(compute), X, by=write_out_powers))
    assert f"aten.{operator}" in made
    assert "aten.pow.Tensor_Tensor" not in made


KEPT: dict[str, Callable[[Tensor], Tensor]] = {
    "whole exponents": lambda x: (x - 1) ** torch.arange(4.0),
    "both computed": lambda x: x**x,
    "bases of zero": lambda x: torch.tensor([0.0, 1, 2, 3]) ** x,
}


@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str) -> None:
    made = targets(rewritten(Function(KEPT[name]), X, by=write_out_powers))
    assert "aten.pow.Tensor_Tensor" in made


@pytest.mark.parametrize("base", [torch.tensor(-2.0), torch.tensor([-2.0, 1.5, -1, -1.2])])
def test_powers_of_negative_numbers_are_those_of_whole_exponents(base: Tensor) -> None:
    x = torch.arange(-3.0, 5).reshape(2, 4)
    power = Function(lambda x: base.tolist() ** x if base.dim() == 0 else base**x)
    spelled = rewritten(power, x, by=write_out_powers)
    assert {"aten.round.default", "aten.pow.Scalar"} <= set(targets(spelled))
    torch.testing.assert_close(spelled(x + 0.25), base**x, rtol=0.5, atol=0)
    torch.testing.assert_close(spelled(x), base**x)


class Power(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x**y


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("least", "is_float"), [(0.0, False), (-1.0, True)])
def test_powers_of_two_inputs_are_integers_where_bases_are_positive(
    least: float, is_float: bool
) -> None:
    random = torch.Generator().manual_seed(0)
    bases, exponents = torch.rand(2, 4, 1, 64, generator=random) * 2
    samples = list(zip((bases + least).round(decimals=1), exponents.round(), strict=True))
    compiled = api.compile(Power(), samples[0], samples)
    assert (Arithmetic.FLOAT in arithmetics(compiled.graph)) is is_float
    assert is_float or compiled.fidelity.faithful
