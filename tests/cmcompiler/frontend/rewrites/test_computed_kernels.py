"""Convolutions with kernels that depend on inputs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn
from torch.nn import functional as F

IMAGE, SEQUENCE = torch.randn(2, 4, 9, 7), torch.randn(1, 4, 15)

FORMS: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], Tensor, Tensor]] = {
    "plain": (F.conv2d, IMAGE, torch.randn(5, 4, 3, 2)),
    "in groups": (
        lambda x, w: F.conv2d(x, w, torch.arange(6.0), (2, 1), (1, 2), (1, 3), 2),
        IMAGE,
        torch.randn(6, 2, 3, 2),
    ),
    "depthwise": (lambda x, w: F.conv2d(x, w, groups=4), IMAGE, torch.randn(4, 1, 3, 3)),
    "same": (lambda x, w: F.conv2d(x, w, padding="same"), IMAGE, torch.randn(5, 4, 3, 5)),
    "one image": (lambda x, w: F.conv2d(x[0], w), IMAGE, torch.randn(5, 4, 3, 2)),
    "of a sequence": (
        lambda x, w: F.conv1d(x, w, stride=2, padding=3, dilation=2),
        SEQUENCE,
        torch.randn(5, 4, 3),
    ),
}


class Computed(nn.Module):
    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, kernel: Tensor) -> Tensor:
        return self.function(x, kernel * 0.5)


@pytest.mark.parametrize("name", FORMS)
def test_a_kernel_multiplies_patches(name: str) -> None:
    function, x, kernel = FORMS[name]
    operators = targets(rewritten(Computed(function), x, kernel, tolerance=1e-4))
    assert "aten.bmm.default" in operators and not any("conv" in each for each in operators)


def test_constant_kernels_stay_convolutions() -> None:
    assert "aten.conv2d.default" in targets(rewritten(nn.Conv2d(4, 5, 3), IMAGE))
