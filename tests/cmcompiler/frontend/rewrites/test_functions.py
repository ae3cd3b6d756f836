"""Chains of operators on one number become one node each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import rewritten, targets
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.fx import GraphModule
from torch.nn import functional as F

from cmcompiler.frontend.rewrites.functions import join_functions

FUNCTION = "cmbuild.function.default"


class Body(nn.Module):
    def __init__(
        self, function: Callable[[Tensor], Tensor], first: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.first = first or nn.MaxPool2d(1)
        self.slope = nn.PReLU()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.first(x))


def expressions(graph: GraphModule) -> list[str]:
    return [str(node.args[1]) for node in graph.graph.nodes if str(node.target) == FUNCTION]


def after(first: nn.Module, function: Callable[[Tensor], Tensor]) -> GraphModule:
    torch.manual_seed(0)
    x = 4 * torch.randn(1, 3, 6, 6).to(memory_format=torch.channels_last)
    return rewritten(Body(function, first), x)


HALF = torch.tensor(0.5)

JOINED = {
    "leaky_relu": (lambda y: F.leaky_relu(y, 0.2), "leaky_relu(x, 0.2)"),
    "elu": (F.elu, "elu(x, 1.0)"),
    "softsign": (F.softsign, "div.Tensor(x, add.Tensor(abs(x), 1))"),
    "tanhshrink": (F.tanhshrink, "sub.Tensor(x, tanh(x))"),
    "silu": (lambda y: y * torch.sigmoid(y), "mul.Tensor(x, sigmoid(x))"),
    "mish": (lambda y: y * torch.tanh(F.softplus(y)), "mul.Tensor(x, tanh(softplus(x)))"),
    "hardswish": (
        lambda y: y * F.relu6(y + 3) / 6,
        "div.Tensor(mul.Tensor(x, hardtanh(add.Tensor(x, 3), 0.0, 6.0)), 6)",
    ),
    "gelu": (lambda y: F.gelu(y, approximate="tanh"), "gelu(x, approximate='tanh')"),
    "square": (lambda y: y * y, "mul.Tensor(x, x)"),
    "where": (
        lambda y: torch.where(y > 0, y, 0.5 * y),
        "where.self(gt.Scalar(x, 0), x, mul.Tensor(x, 0.5))",
    ),
    "masked_fill": (
        lambda y: y.masked_fill(y < -1, 2.0),
        "masked_fill.Scalar(x, lt.Scalar(x, -1), 2.0)",
    ),
    "constant": (lambda y: y * HALF + 1, "add.Tensor(mul.Tensor(x, 0.5), 1)"),
    "in place": (lambda y: F.elu(y + 1, inplace=True).neg_(), "neg(elu(add.Tensor(x, 1), 1.0))"),
    "chain": (
        lambda y: torch.exp(-y.square()).clamp(min=0.1).sqrt(),
        "sqrt(clamp(exp(neg(square(x))), 0.1))",
    ),
    "twice": (lambda y: (y + 1) / (y + 1).abs().sqrt(), None),
}


@pytest.mark.parametrize("name", JOINED)
def test_functions_of_one_number_are_one_node(name):
    function, expected = JOINED[name]
    graph = after(nn.AvgPool2d(2), function)
    assert targets(graph) == ["aten.avg_pool2d.default", FUNCTION]
    assert expected in (None, *expressions(graph))


def test_prelu_with_one_slope_is_a_function():
    graph = rewritten(
        nn.Sequential(nn.Conv2d(3, 3, 1), nn.PReLU(init=0.125)), torch.randn(1, 3, 4, 4)
    )
    assert expressions(graph) == ["leaky_relu(x, 0.125)"]
    graph = rewritten(nn.Sequential(nn.Conv2d(3, 3, 1), nn.PReLU(3)), torch.randn(1, 3, 4, 4))
    assert expressions(graph) == []


CONV_BN = nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4))


@pytest.mark.parametrize("clamp", [F.relu, F.relu6, F.hardsigmoid, lambda y: y.clamp(0, 1)])
@pytest.mark.parametrize("first", [nn.Conv2d(3, 4, 3), CONV_BN, nn.Linear(6, 4)])
def test_clamps_stay_with_the_operator_that_fuses_them(first, clamp):
    assert expressions(after(first, clamp)) == []
    assert expressions(after(first, lambda y: clamp(y).exp())) == ["exp(x)"]


def test_a_sum_of_two_tensors_clamps_too():
    assert expressions(after(nn.Identity(), lambda y: F.relu(y + y.flip(3)))) == []
    assert expressions(after(nn.Identity(), lambda y: F.relu(y + 1))) == ["relu(add.Tensor(x, 1))"]
    gate = after(nn.Identity(), lambda y: F.hardsigmoid(y + y.flip(3)))
    assert expressions(gate) == ["hardsigmoid(x)"]


def test_clamps_of_a_tensor_that_others_use_do_not_fuse():
    graph = after(nn.Conv2d(3, 4, 3), lambda y: F.hardsigmoid(y) + y.flip(3))
    assert expressions(graph) == ["hardsigmoid(x)"]


def test_functions_with_a_rule_stay_with_the_backend():
    for function in (F.relu, torch.sigmoid, torch.tanh, F.silu, F.gelu, torch.sqrt):
        assert expressions(after(nn.MaxPool2d(2), lambda y, f=function: f(y.abs().flip(3)))) == [
            "abs(x)"
        ]


def test_clamps_anywhere_after_a_bias_are_functions():
    """The backend would leave their bounds unquantised, in steps from zero."""
    for first, expected in ((nn.Linear(6, 4), ["relu(x)"]), (nn.Linear(6, 4, bias=False), [])):
        assert expressions(after(first, lambda y: F.relu(y.flip(3)))) == expected


def test_numbers_that_operators_take_as_tensors():
    graph = after(nn.MaxPool2d(2), lambda y: torch.clamp(y, min=HALF).maximum(-HALF))
    assert expressions(graph) == ["maximum(clamp.Tensor(x, 0.5), -0.5)"]


def test_a_value_used_outside_is_the_source_of_what_follows():
    graph = after(nn.MaxPool2d(2), lambda y: torch.conv2d(y.exp(), W) + (y.exp() + 1).sin().sum())
    assert expressions(graph) == ["exp(x)", "sin(add.Tensor(exp(x), 1))"]

    def shared(y: Tensor) -> Tensor:
        z = y.exp()
        return torch.conv2d(z, W) + (z + 1).sin().sum()

    graph = after(nn.MaxPool2d(2), shared)
    assert expressions(graph) == ["exp(x)", "sin(add.Tensor(x, 1))"]


W = torch.ones(1, 3, 1, 1)


def test_values_of_two_sources_do_not_join():
    graph = after(nn.MaxPool2d(2), lambda y: y.exp() * y.flip(3).exp())
    assert targets(graph)[-1] == "aten.mul.Tensor"
    assert expressions(graph) == ["exp(x)", "exp(x)"]


def test_shapes_that_differ_do_not_join():
    wider = torch.ones(1, 1, 1, 1, 1)
    graph = after(nn.MaxPool2d(2), lambda y: (y * wider).exp())
    assert targets(graph)[-2:] == ["cmbuild.mul.default", FUNCTION]


def test_hardswish_is_clamped_where_it_is_constant():
    graph = after(CONV_BN, F.hardswish)
    assert targets(graph)[-2:] == ["aten.clamp.default", FUNCTION]
    graph = after(nn.MaxPool2d(2), F.hardswish)
    assert targets(graph)[-1] == FUNCTION and "aten.clamp.default" not in targets(graph)
    graph = after(nn.Conv2d(3, 4, 3), lambda y: F.hardswish(y) + y.flip(3))
    assert "aten.clamp.default" not in targets(graph)


def test_integers_are_left_alone():
    class Counts(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x + 1).abs().to(torch.float32)

    graph = rewritten(Counts(), torch.arange(5))
    assert expressions(graph) == []


UNARY = (torch.tanh, torch.sigmoid, F.relu, F.elu, F.hardswish, lambda y: y / 3 - 0.5)
BINARY = (torch.add, torch.mul, torch.minimum, lambda y, z: torch.where(y > 0.25, z, y))


@st.composite
def programs(draw: st.DrawFn) -> Callable[[Tensor], tuple[Tensor, ...]]:
    """Functions of one and two tensors, of values that came before; some are results."""
    count = draw(st.integers(1, 12))
    earlier = [(draw(st.integers(0, n + 1)), draw(st.integers(0, n + 1))) for n in range(count)]
    chosen = [draw(st.sampled_from([*UNARY, *BINARY])) for _ in range(count)]
    results = draw(st.sets(st.integers(0, count - 1), max_size=3)) | {count - 1}

    def run(y: Tensor) -> tuple[Tensor, ...]:
        values = [y, y.flip(3)]
        for function, (first, second) in zip(chosen, earlier, strict=True):
            operands = (values[first], values[second])[: 2 if function in BINARY else 1]
            values.append(function(*operands))
        return tuple(values[2 + number] for number in results)

    return run


@settings(max_examples=6)
@given(programs())
def test_any_program_computes_the_same(program):
    after(nn.Conv2d(3, 3, 1), program)


def test_long_chains_are_one_node():
    def long(y: Tensor) -> Tensor:
        for _ in range(100):
            y = y + 0.25 * torch.sin(y)
        return y

    graph = after(nn.MaxPool2d(2), long)
    assert targets(graph) == ["aten.max_pool2d.default", FUNCTION]


def test_what_only_a_comparison_reads_is_a_function():
    class Far(nn.Module):
        def forward(self, y, z):
            far = torch.logical_not(torch.exp(y.abs() - 1) < 1.5)
            return torch.where(far, y, z)

    graph = rewritten(
        Far(), torch.randn(3, 4), torch.randn(3, 4), by=join_functions, tolerance=1e-6
    )
    function, *others = targets(graph)
    assert function == "cmbuild.function.default"
    assert others == ["aten.lt.Scalar", "aten.logical_not.default", "aten.where.self"]
