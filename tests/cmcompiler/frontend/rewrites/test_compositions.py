"""Compositions of torch become the operators that they are made of."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor, nn

X = torch.rand(2, 3, 4, 5, generator=torch.Generator().manual_seed(1)) * 0.8 + 0.1

CASES: dict[str, Callable[[Tensor], Tensor]] = {
    "stacked": lambda x: torch.vstack([torch.hstack([x, x]), torch.hstack([x, x])]),
    "columns": lambda x: torch.column_stack([x[0, 0], x[0, 1]]),
    "flat": lambda x: x.ravel()[None],
    "narrow": lambda x: x.narrow(1, 0, 2),
    "split": lambda x: torch.cat([part * 2 for part in x.tensor_split(3, 1)], 1),
    "turned": lambda x: torch.fliplr(torch.flipud(x)),
    "reversed dimensions": lambda x: x[0, 0].T,
    "last dimensions": lambda x: x.mT,
    "centred spectrum": torch.fft.fftshift,
    "rolled as a whole": lambda x: x.roll(2),
    "grid": lambda x: torch.stack(torch.meshgrid(x[0, 0, 0], x[0, 0, :, 0], indexing="ij")),
    "outer": lambda x: torch.outer(x[0, 0, 0], x[0, 0, 1]),
    "kronecker": lambda x: torch.kron(x[0, 0], x[0, 1]),
    "chain": lambda x: torch.linalg.multi_dot([x[0, 0], x[0, 1].T, x[0, 2]]),
    "power": lambda x: torch.linalg.matrix_power(x[0, 0, :, :4], 3),
    "cross": lambda x: torch.linalg.cross(x, x.flip(1), dim=1),
    "diagonal": lambda x: torch.diag_embed(x[0, 0]),
    "losses": lambda x: nn.functional.mse_loss(x, x.flip(1)) + nn.functional.l1_loss(x, x * 2),
    "integral": lambda x: torch.trapezoid(x, dim=-1),
    "extremes": lambda x: torch.cat(torch.aminmax(x, dim=1, keepdim=True), 1),
}


@pytest.mark.parametrize("name", CASES)
def test_parts_have_rules(name: str) -> None:
    # rewritten() compares the results.
    assert set(_names(rewritten(Function(CASES[name]), X))) <= {
        *(
            "cat",
            "flip",
            "stack",
            "expand",
            "reshape",
            "_unsafe_view",
            "view",
            "permute",
            "transpose",
        ),
        *("slice", "select", "unsqueeze", "squeeze", "index_select", "clone", "alias"),
        *("cmbuild", "mul", "add", "sub", "bmm", "where", "amin", "amax"),
        "<built-in function getitem>",
    }


def _names(graph: torch.fx.GraphModule) -> list[str]:
    return [target.removeprefix("aten.").partition(".")[0] for target in targets(graph)]
