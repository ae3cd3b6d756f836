"""Constants for each channel go into weights, or become a convolution."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn

CONV, OWN_MUL = "aten.conv2d.default", "cmbuild.mul.default"


class Scaled(nn.Module):
    def __init__(
        self, first: nn.Module, function: Callable[[Tensor, Tensor, Tensor], Tensor]
    ) -> None:
        super().__init__()
        self.first, self.function = first, function
        self.channels = nn.Parameter(torch.rand(4, 1, 1) + 0.5)
        self.last = nn.Parameter(torch.rand(4) - 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.first(x), self.channels, self.last)


def run(first: nn.Module, function: Callable[..., Tensor], *shape: int) -> list[str]:
    torch.manual_seed(0)
    x = torch.randn(*shape or (2, 4, 5, 3))
    if x.ndim == 4:
        x = x.to(memory_format=torch.channels_last)
    return targets(rewritten(Scaled(first, function), x))


AFFINE = {
    "mul": lambda x, c, _: x * c,
    "reversed": lambda x, c, _: c * x,
    "div": lambda x, c, _: x / c,
    "add": lambda x, c, _: c + x,
    "sub": lambda x, c, _: x - c,
    "both": lambda x, c, _: (x * c - c) / c + c,
}
NORM = nn.BatchNorm2d(4)
NORM.running_mean, NORM.running_var = torch.randn(4), torch.rand(4) + 0.5


@pytest.mark.parametrize("name", AFFINE)
@pytest.mark.parametrize(
    "first",
    [nn.Conv2d(4, 4, 3, bias=False), nn.Sequential(nn.Conv2d(4, 4, 1), NORM)],
    ids=["conv", "norm"],
)
def test_the_operator_before_takes_the_constants(first, name):
    names = run(first, AFFINE[name])
    assert names == [CONV]


@pytest.mark.parametrize("name", AFFINE)
def test_elsewhere_they_are_one_convolution(name):
    assert run(nn.MaxPool2d(1), AFFINE[name]) == ["aten.max_pool2d.default", CONV]


def test_weights_that_others_use_stay():
    names = run(nn.Conv2d(4, 4, 1), lambda x, c, _: x * c + x)
    assert names == [CONV, CONV, "aten.add.Tensor"]


def test_a_negated_tensor_is_not_biased():
    assert run(nn.Conv2d(4, 4, 1), lambda x, c, _: c - x)[-1] == "cmbuild.add.default"


def test_the_bias_of_a_linear_layer_takes_a_sum_but_its_weights_have_one_scale():
    assert run(nn.Linear(3, 4), lambda x, _, last: x + last) == ["aten.linear.default"]
    assert run(nn.Linear(3, 4), lambda x, _, last: x * last)[-1] == OWN_MUL


def test_constants_along_other_dimensions_are_broadcast():
    assert run(nn.MaxPool2d(1), lambda x, _, last: x * last, 2, 3, 5, 4)[-1] == OWN_MUL
    assert run(nn.Identity(), lambda x, c, _: x * c[:, 0], 2, 4, 3)[-1] == OWN_MUL
