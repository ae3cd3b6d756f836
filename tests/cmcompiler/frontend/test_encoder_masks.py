"""Encoders and decoders of torch.nn: masks that they would compare, and padding that they pack."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from cmcompiler.frontend.layouts import export

# Eager encoders pack sequences in nested tensors, which torch calls a prototype.
pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")

MASK = nn.Transformer.generate_square_subsequent_mask(4)


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerDecoderLayer(8, 2, 8, batch_first=True)
        self.layers = nn.TransformerDecoder(layer, 1)
        self.register_buffer("mask", MASK)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x, x.flip(1), tgt_mask=self.mask)


def test_a_causal_mask_in_a_buffer() -> None:
    torch.manual_seed(0)
    module, x = Decoder().eval(), torch.randn(1, 4, 8)
    torch.testing.assert_close(export(module, (x,)).module()(x), module(x))


def test_a_mask_that_is_not_causal() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)
    module = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
    given = torch.randn(1, 4, 8), MASK.T.contiguous()
    torch.testing.assert_close(export(module, given).module()(*given), module(*given))


@pytest.mark.parametrize("norm", [None, nn.LayerNorm(8)])
@pytest.mark.parametrize("lengths", [[4, 2], [1, 3]])
def test_results_of_padding_are_zeros_before_the_norm(
    norm: nn.Module | None, lengths: list[int]
) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)
    module = nn.TransformerEncoder(layer, 2, norm).eval()
    x, mask = torch.randn(2, 4, 8), torch.arange(4) >= torch.tensor(lengths)[:, None]
    exported = export(module, (x, None, mask)).module()
    for padding in (mask, mask.flip(1), torch.zeros_like(mask)):
        with torch.no_grad():
            expected = module(x, None, padding)
        torch.testing.assert_close(exported(x, None, padding), expected)


def test_a_float_mask_of_padding() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)
    module = nn.TransformerEncoder(layer, 1).eval()
    given = torch.randn(1, 4, 8), None, torch.tensor([[0.0, 0.0, float("-inf"), float("-inf")]])
    with torch.no_grad():
        expected = module(*given)
    torch.testing.assert_close(export(module, given).module()(*given), expected)
