"""Exports the masks of torch.nn.Transformer as inference treats them. Importing it imports torch.

What torch decides by a mask's numbers cannot be exported, so it is decided here, or in the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.modules import transformer

_Encoder = transformer.TransformerEncoder


@contextmanager
def masks_as_in_inference() -> Iterator[None]:
    """Has the encoders and decoders that are exported meanwhile treat masks as eager ones do.

    Whether a mask is causal is only a hint for speed: each is taken as it is. An encoder packs
    sequences that end with padding, and the results of the padding are zeros then.
    """
    before, forward = transformer._detect_is_causal_mask, _Encoder.forward

    def padded(
        self: _Encoder,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        if mask is not None or src_key_padding_mask is None or not _packs(self, src):
            return forward(self, src, mask, src_key_padding_mask, is_causal)
        norm, self.norm = self.norm, None
        try:
            results = forward(self, src, mask, src_key_padding_mask, is_causal)
        finally:
            self.norm = norm
        results = results.masked_fill(_packed(src_key_padding_mask)[..., None], 0.0)
        return results if norm is None else norm(results)

    transformer._detect_is_causal_mask = _as_told
    _Encoder.forward = padded  # type: ignore[method-assign]
    try:
        yield
    finally:
        transformer._detect_is_causal_mask = before
        _Encoder.forward = forward  # type: ignore[method-assign]


def _as_told(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    return is_causal is True


def _packs(encoder: _Encoder, sequences: Tensor) -> bool:
    """Whether an eager encoder in inference makes nested tensors of padded sequences."""
    is_enabled = torch.backends.mha.get_fastpath_enabled()
    return is_enabled and getattr(encoder, "use_nested_tensor", False) and sequences.dim() == 3


def _packed(mask: Tensor) -> Tensor:
    """Where padding is left out: everywhere, if it only follows the values, else nowhere.

    Args:
        mask: batch × keys, true or another number than 0 for padding.
    """
    padding = mask if mask.dtype == torch.bool else mask != 0
    is_aligned = ~(padding[:, :-1] & ~padding[:, 1:]).any()
    return padding & is_aligned
