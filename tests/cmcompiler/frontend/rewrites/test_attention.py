"""Attention in its spellings becomes the compiler's own, with the same results."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

OWN, MASKED = "cmbuild.attention.default", "cmbuild.masked_attention.default"


class Attention(nn.Module):
    """torch's own, with a constant mask."""

    def __init__(self, mask: Tensor | None = None, **options: Any) -> None:
        super().__init__()
        self.register_buffer("mask", mask)
        self.options = options

    def forward(self, query: Tensor, key: Tensor, value: Tensor, *mask: Tensor) -> Tensor:
        mask = mask[0] if mask else self.mask
        return scaled_dot_product_attention(query, key, value, mask, **self.options)


def tensors(*shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator) for shape in shapes]


FOUR = tensors((2, 6, 5, 4), (2, 6, 7, 4), (2, 6, 7, 3))
SEEN = torch.rand(5, 7, generator=torch.Generator().manual_seed(1)) > 0.5


@pytest.mark.parametrize(
    "inputs",
    [FOUR, tensors((5, 4), (7, 4), (7, 3)), tensors((3, 5, 4), (3, 7, 4), (3, 7, 3))],
    ids=["four", "two", "three"],
)
@pytest.mark.parametrize("options", [{}, {"scale": 0.3}, {"is_causal": True}], ids=str)
def test_torchs_own(inputs: list[Tensor], options: dict[str, Any]) -> None:
    assert OWN in targets(rewritten(Attention(**options), *inputs))


def test_shared_keys() -> None:
    inputs = tensors((2, 6, 5, 4), (2, 3, 7, 4), (2, 3, 7, 3))
    assert OWN in targets(rewritten(Attention(enable_gqa=True), *inputs))


@pytest.mark.parametrize(
    "mask",
    [
        SEEN,
        SEEN[:1],
        torch.where(SEEN, 0.5, -math.inf),
        SEEN.expand(2, 1, 5, 7),
        SEEN.expand(6, 5, 7),
        torch.zeros(5, 7, dtype=torch.bool),
    ],
    ids=["bool", "row", "float", "batch", "heads", "nothing"],
)
def test_constant_masks(mask: Tensor) -> None:
    assert OWN in targets(rewritten(Attention(mask), *FOUR))


@pytest.mark.parametrize("shape", [(5, 7), (1, 1, 1, 7), (2, 1, 1, 7), (2, 6, 5, 7)])
def test_computed_masks(shape: tuple[int, ...]) -> None:
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(1)) > 0.3
    assert MASKED in targets(rewritten(Attention(), *FOUR, mask))


@pytest.mark.parametrize("shape", [(5, 7), (1, 1, 1, 7), (2, 1, 1, 7), (2, 6, 5, 7)])
def test_computed_float_masks(shape: tuple[int, ...]) -> None:
    (mask,) = tensors(shape)
    assert "cmbuild.biased_attention.default" in targets(rewritten(Attention(), *FOUR, mask))


@pytest.mark.parametrize("is_first", [True, False])
def test_layers(is_first: bool) -> None:
    (x,) = tensors((2, 5, 8))
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=is_first)
    operators = targets(rewritten(layer, x))
    assert operators.count(OWN) == 1
    assert operators.count("cmbuild.layer_norm.default") == 2


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.layer(x, memory, tgt_mask=mask)


def test_a_mask_made_by_the_model() -> None:
    operators = targets(rewritten(Decoder(), *tensors((2, 5, 8), (2, 7, 8))))
    assert operators.count(OWN) == 2
