"""Encoders and decoders of torch.nn with masks that they would compare with a causal one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cmcompiler.frontend.layouts import export

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
