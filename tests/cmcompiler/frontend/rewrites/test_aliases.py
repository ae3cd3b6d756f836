"""Operators of several names have the name for which there are rules."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor

X = torch.rand(2, 3, 4, 5, generator=torch.Generator().manual_seed(1)) * 0.8 + 0.1

CASES: dict[str, tuple[Callable[[Tensor], Tensor], str]] = {
    "product": (lambda x: torch.multiply(x, x.flip(1)), "flip mul"),
    "product in place": (lambda x: x.flip(1).multiply_(x), "flip mul"),
    "difference": (lambda x: torch.subtract(x, x.flip(1)), "flip sub"),
    "quotient": (lambda x: torch.true_divide(x, x.flip(1)), "flip div"),
    "absolute": (torch.absolute, "cmbuild.function"),
    "negative": (torch.negative, "cmbuild.function"),
    "comparison": (lambda x: torch.greater_equal(x, 0.5), "ge"),
    "joined": (lambda x: torch.concatenate([x, x], 1), "cat"),
    "exchanged": (lambda x: x.swapaxes(1, 2), "transpose"),
    "moved": (lambda x: x.moveaxis(1, -1), "permute"),
    "arc": (torch.arctan, "cmbuild.function"),
    "sigmoid": (torch.special.expit, "sigmoid"),
    "softmax": (lambda x: torch.special.softmax(x, -1), "softmax"),
    "logarithms": (lambda x: torch.special.log_softmax(x, -1), "cmbuild.log_softmax"),
    "place": (lambda x: x.max(1)[1], "argmax"),
    "place of the least": (lambda x: x.min(-1, keepdim=True).indices, "argmin"),
    "error function": (torch.special.erf, "cmbuild.function"),
}


@pytest.mark.parametrize("name", CASES)
def test_named_as_rules_are(name: str) -> None:
    compute, expected = CASES[name]
    assert _names(rewritten(Function(compute), X)) == expected


def _names(graph: torch.fx.GraphModule) -> str:
    parts = (target.removeprefix("aten.").split(".") for target in targets(graph))
    return " ".join(".".join(part[:2]) if part[0] == "cmbuild" else part[0] for part in parts)
