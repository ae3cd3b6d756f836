"""Batches of products with constant matrices, with weights and activations of all types."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.examples import Example
from harness.runtime import Runtime
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.ops.batch_matmul import BatchMatmul
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.support.nibbles import LARGEST


class Products(nn.Module):
    """Matrices by constant ones on their right, and on their left."""

    def __init__(self) -> None:
        super().__init__()
        self.right = nn.Parameter(torch.randn(3, 24, 18) / 5)
        self.left = nn.Parameter(torch.randn(3, 20, 14) / 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.left @ torch.bmm(x, self.right)


def products() -> list[Tensor]:
    return [torch.randn(3, 14, 24, generator=torch.Generator().manual_seed(n)) for n in range(8)]


@pytest.mark.parametrize(
    ("weights", "activations", "snr"),
    [("int4", "int8", 16), ("int8", "int16", 40), ("int4", "int16", 16), ("int16", "int16", 60)],
)
def test_each_matrix_is_the_weight_of_a_layer(
    weights: str, activations: str, snr: float, native: Runtime
) -> None:
    torch.manual_seed(33)
    module, data = Products().eval(), products()
    compiled = api.compile(module, data[0], data, weights=weights, activations=activations)
    layers = [node.op for node in compiled.graph.nodes if isinstance(node.op, Linear)]
    assert len(layers) == (12 if weights == "int16" else 6)
    assert not any(isinstance(node.op, BatchMatmul) for node in compiled.graph.nodes)
    if weights == "int4":
        assert all(np.abs(each.weights.astype(int)).max() <= LARGEST for each in layers)
    assert not compiled.fidelity.unpaired
    assert all(layer.faithful for layer in compiled.fidelity.layers)
    example = Example(compiled.graph, (data[0].numpy(),), weights)
    wanted = module(data[0]).detach().numpy()
    error = example.reference.outputs[0].reshape(wanted.shape) - wanted
    assert 10 * np.log10((wanted**2).sum() / (error**2).sum()) >= snr
    native.check(example)


def test_bytes_stay_one_product_of_a_batch() -> None:
    data = products()
    compiled = api.compile(Products().eval(), data[0], data)
    assert sum(isinstance(node.op, BatchMatmul) for node in compiled.graph.nodes) == 2
