"""Sparse constants as dense ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import rewritten
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.frontend.rewrites.sparse import make_dense

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own: sparse CSR is in beta
EDGES = torch.eye(5) + torch.eye(5).roll(1, 0) * 0.5
X = torch.linspace(-1, 1, 20).reshape(5, 4)


class Graph(nn.Module):
    def __init__(self, compute: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.compute = compute
        self.register_buffer("edges", EDGES.to_sparse())

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(self.edges, x)


PRODUCTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sparse.mm": torch.sparse.mm,
    "operator": lambda edges, x: edges @ x,
    "sum": lambda edges, x: torch.sparse.addmm(x, edges, x, beta=0.5, alpha=2),
    "dense": lambda edges, x: edges.to_dense() @ x,
    "transposed": lambda edges, x: torch.mm(edges.t(), x),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_dense(name: str) -> None:
    graph = rewritten(Graph(PRODUCTS[name]), X, by=make_dense)
    values = [node.meta.get("val") for node in graph.graph.nodes]
    assert all(x.layout is torch.strided for x in values if isinstance(x, Tensor))


def test_compressed_rows_compile() -> None:
    module = Graph(torch.mm)
    module.edges = EDGES.to_sparse_csr()
    assert api.compile(module.eval(), X).fidelity.faithful
