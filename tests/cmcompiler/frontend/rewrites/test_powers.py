"""Powers of two tensors written out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor

from cmcompiler.frontend.rewrites.powers import write_out_powers

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
    "negative bases": lambda x: (-EXPONENTS) ** x.round(),
}


@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str) -> None:
    made = targets(rewritten(Function(KEPT[name]), X, by=write_out_powers))
    assert "aten.pow.Tensor_Tensor" in made
