"""Lets torch.nn.Transformer be exported with a mask. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch.nn.modules import transformer

_NAME = "_detect_is_causal_mask"


@contextmanager
def masks_as_given() -> Iterator[None]:
    """Has encoders and decoders take a mask as it is, without looking whether it is causal.

    The answer is a hint for speed, and reading it from the mask's numbers cannot be exported.
    """
    before = getattr(transformer, _NAME)
    setattr(transformer, _NAME, _as_told)
    try:
        yield
    finally:
        setattr(transformer, _NAME, before)


def _as_told(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    return is_causal is True
