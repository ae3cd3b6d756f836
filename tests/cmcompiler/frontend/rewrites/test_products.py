"""Matrix products in all spellings become linear layers or bmm, with the same results."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor, nn

LINEAR, BMM = "aten.linear.default", "aten.bmm.default"

Compute = Callable[["Products", Tensor, Tensor], Tensor]


class Products(nn.Module):
    def __init__(self, compute: Compute) -> None:
        super().__init__()
        self.compute = compute
        generator = torch.Generator().manual_seed(2)
        self.matrix = nn.Parameter(torch.randn(4, 6, generator=generator))
        self.vector = nn.Parameter(torch.randn(4, generator=generator))
        self.pairs = nn.Bilinear(4, 4, 6)
        self.matrices = nn.Parameter(torch.randn(3, 4, 5, generator=generator))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.compute(self, x, y)


GENERATOR = torch.Generator().manual_seed(1)
X = torch.randn(2, 3, 5, 4, generator=GENERATOR)
Y = torch.randn(2, 3, 4, 7, generator=GENERATOR)

LINEARS: dict[str, Compute] = {
    "matrix": lambda self, x, _: x @ self.matrix,
    "transposed": lambda self, x, _: x.mT @ self.matrix.T[:5, :5],
    "from the left": lambda self, _, y: self.matrix.T @ y,
    "vector": lambda self, x, _: x @ self.vector,
    "of a vector": lambda self, x, _: x[0, 0, 0] @ self.matrix,
    "mm": lambda self, x, _: torch.mm(x[0, 0], self.matrix),
    "addmm": lambda self, x, _: torch.addmm(self.matrix[0], x[0, 0], self.matrix),
    "einsum": lambda self, x, _: torch.einsum("bnkc,cd->bdnk", x, self.matrix),
    "bilinear": lambda self, x, y: self.pairs(x, y[..., :5].mT),
}
BATCHES: dict[str, Compute] = {
    "four": lambda _, x, y: x @ y,
    "two": lambda _, x, y: x[0, 0] @ y[0, 0],
    "shared columns": lambda _, x, y: x @ y[0, 0],
    "shared rows": lambda _, x, y: x[0, 0] @ y,
    "broadcast": lambda _, x, y: x[:1] @ y[:, :1],
    "vectors": lambda _, x, y: x[0, 0, 0] @ y[0, 0, :, 0],
    "constant batch": lambda self, x, _: x @ self.matrices,
    "einsum": lambda _, x, y: torch.einsum("bhqd,bhdk->bhqk", x, y),
    "einsum of letters": lambda _, x, y: torch.einsum("b h q d, b h d k -> q b k", x, y),
    "tensordot": lambda _, x, y: torch.tensordot(x, y, dims=([-1], [2])),
    "linear": lambda _, x, y: nn.functional.linear(x, y[0, 0].T),
    "linear with a bias": lambda _, x, y: nn.functional.linear(x[0, 0, 0], x[0, 0], y[0, 0, :1, 0]),
    "baddbmm with factors": lambda _, x, y: torch.baddbmm(
        x[0, :, :, :1], x[0], y[0], beta=0.5, alpha=2
    ),
    "baddbmm of nothing": lambda _, x, y: torch.baddbmm(
        x[0, :, :, :1], x[0], y[0], beta=0, alpha=0.3
    ),
    "baddbmm": lambda _, x, y: torch.baddbmm(x[0, :, :, :1], x[0], y[0]),
}


@pytest.mark.parametrize("name", LINEARS)
def test_products_with_constants(name: str) -> None:
    operators = targets(rewritten(Products(LINEARS[name]), X, Y))
    assert LINEAR in operators
    assert BMM not in operators


@pytest.mark.parametrize("name", BATCHES)
def test_products_of_inputs(name: str) -> None:
    operators = targets(rewritten(Products(BATCHES[name]), X, Y))
    assert BMM in operators
    assert not {"aten.matmul.default", "aten.einsum.default"} & set(operators)


@pytest.mark.parametrize(
    "equation",
    ["bhqd,bhdk->bhq", "bhqd,bhdk", "...qd,...dk->...qk", "bhqd,bxdk,bxyz->bqy", "bhqd,xyzw->qz"],
)
def test_products_of_any_letters(equation: str) -> None:
    def compute(_: Products, x: Tensor, y: Tensor) -> Tensor:
        return torch.einsum(equation, *(x, y, x)[: equation.count(",") + 1])

    operators = targets(rewritten(Products(compute), X, Y, tolerance=1e-4))
    assert {BMM, "cmbuild.sum.default"} & set(operators)
    assert "aten.einsum.default" not in operators


@pytest.mark.parametrize(
    ("equation", "operator"),
    [("bhqd->dq", "cmbuild.sum.default"), ("b h q d -> d q b h", "aten.permute.default")],
)
def test_einsum_of_one_operand(equation: str, operator: str) -> None:
    operators = targets(rewritten(Function(lambda x: torch.einsum(equation, x)), X, tolerance=1e-4))
    assert operator in operators
    assert "aten.einsum.default" not in operators


def test_einsum_without_sums_multiplies_elements() -> None:
    compute: Compute = lambda _, x, y: torch.einsum("bhqd,bhdk->bhqdk", x, y)  # noqa: E731
    operators = targets(rewritten(Products(compute), X, Y))
    assert "cmbuild.mul.default" in operators
    assert BMM not in operators


def test_diagonals_stay() -> None:
    diagonal = Function(lambda x: torch.einsum("bhqq->bq", x))
    assert "aten.einsum.default" in targets(rewritten(diagonal, torch.randn(2, 3, 4, 4)))


@pytest.mark.parametrize(
    "function",
    [torch.abs, lambda x: x.sigmoid().softmax(-1), nn.Linear(4, 4, bias=False)],
)
def test_a_bias_before_a_product_with_another_tensor_is_added_on_its_own(
    function: Callable[[Tensor], Tensor],
) -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return function(self.linear(x)) @ y

    graph = rewritten(Mixed(), X, Y)
    linears = [node for node in graph.graph.nodes if str(node.target) == LINEAR]
    assert linears
    assert all(len(linear.args) == 2 for linear in linears)
    assert BMM in targets(graph)
