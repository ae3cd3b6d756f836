"""Functions that torch.export cannot trace, as it can. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from cmcompiler.frontend.hints import REPLACED_DATA


class TraceableForms(TorchFunctionMode):
    """Computes the same by other functions.

    `x.data` leaves the trace, covariances ask for the value of the number they divide by, rows of a
    limited length are written into the table that they are read from, and `torch._foreach_add_`
    writes into tensors of a list.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name.startswith(_EACH):
            return _each(name.removeprefix(_EACH), *args, **(kwargs or {}))
        return _FORMS.get(func, func)(*args, **(kwargs or {}))


def _each(name: str, tensors: Sequence[Tensor], *others: Any, **named: Any) -> list[Tensor]:
    """A call for each tensor, as writes into the tensors of a list leave the export."""
    plain, in_place = name.removesuffix("_"), "_" * name.endswith("_")
    function = getattr(Tensor, _EACH_NAMES.get(plain, plain) + in_place)
    results = []
    for number, tensor in enumerate(tensors):
        own = [_at(each, number) for each in others]
        keywords = {key: _at(each, number) for key, each in named.items()}
        if plain in ("addcmul", "addcdiv") and len(own) == 3:
            keywords["value"] = own.pop()
        results.append(function(tensor, *own, **keywords))
    return results


def _at(each: Any, number: int) -> Any:
    return each[number] if isinstance(each, list | tuple) else each


def _covariance(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    if fweights is not None or aweights is not None:
        return torch.cov(input, correction=correction, fweights=fweights, aweights=aweights)
    rows = input if input.ndim == 2 else input.reshape(1, -1)
    centred = rows - rows.mean(1, keepdim=True)
    products: Tensor = centred @ centred.T / max(rows.shape[1] - correction, 0)
    return products.reshape(()) if input.ndim < 2 else products


def _correlation(input: Tensor) -> Tensor:
    if input.ndim < 2:
        return torch.corrcoef(input)
    products = _covariance(input)
    lengths = products.diagonal().sqrt()
    return (products / lengths[:, None] / lengths[None, :]).clamp(-1.0, 1.0)


def _embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    *others: Any,
    **named: Any,
) -> Tensor:
    if max_norm is not None:
        lengths = torch.linalg.vector_norm(weight, norm_type, 1, keepdim=True)
        is_longer = lengths > max_norm
        weight = torch.where(is_longer, weight * (max_norm / (lengths + _EPSILON)), weight)
    return functional.embedding(input, weight, padding_idx, None, norm_type, *others, **named)


def _replace(tensor: Tensor, data: Tensor) -> None:
    """Writes the numbers, as a trace would keep the tensor without them."""
    if tensor.shape != data.shape or tensor.dtype != data.dtype:
        raise RuntimeError(REPLACED_DATA)
    tensor.detach().copy_(data)


_EACH = "_foreach_"
_EACH_NAMES = {"maximum": "clamp_min", "minimum": "clamp_max"}
"""Where `torch._foreach_NAME` takes numbers, too, and `Tensor.NAME` does not."""

_EPSILON = 1e-7
"""What torch adds to the length of a row."""

_DATA: Any = Tensor.data
_FORMS: dict[Any, Callable[..., Any]] = {
    _DATA.__get__: Tensor.detach,
    _DATA.__set__: _replace,
    functional.embedding: _embedding,
    **dict.fromkeys((torch.signbit, Tensor.signbit), lambda input: input < 0),
    **dict.fromkeys((torch.cov, Tensor.cov), _covariance),
    **dict.fromkeys((torch.corrcoef, Tensor.corrcoef), _correlation),
}
