"""Assignments at places that are computed, `buffer[step] = x`. Importing it imports torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

_PLACES = torch.int8, torch.int16, torch.int32, torch.int64
"""Types of places; uint8 is a mask, as bool is."""


class ComputedPlaces(TorchFunctionMode):
    """Writes to the row that a tensor of one number names, as to the rows that a list names.

    Indexing asks such a tensor for its number, which an export does not know.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__setitem__:
            args = _as_list(*args)
        return func(*args, **(kwargs or {}))


def _as_list(x: Any, index: Any, value: Any) -> tuple[Any, Any, Any]:
    parts = index if isinstance(index, tuple) else (index,)
    places = [at for at, part in enumerate(parts) if _is_place(part)]
    others = [part for part in parts if not _is_place(part)]
    if len(places) != 1 or not all(isinstance(part, slice | int) for part in others):
        return x, index, value
    (at,) = places
    after = parts[at + 1 :]
    rank = x.ndim - at - 1 - sum(isinstance(part, int) for part in after)
    if isinstance(value, Tensor):
        value = value.to(x.dtype)
        if value.ndim > rank:
            value = value.unsqueeze(value.ndim - rank)
    return x, (*parts[:at], parts[at].reshape(1).long(), *after), value


def _is_place(part: Any) -> bool:
    return isinstance(part, Tensor) and part.ndim == 0 and part.dtype in _PLACES
