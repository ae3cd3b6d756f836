"""Orders of equal elements, as programs have them. Importing it imports torch.

torch's topk and sort return equal elements in any order; a program keeps the order that they have.
Rounded numbers are often equal.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph
from torch.utils._python_dispatch import TorchDispatchMode

_ATEN = torch.ops.aten
_RANKED = {_ATEN.kthvalue.default, _ATEN.median.dim}
UNSTABLE = frozenset([_ATEN.topk.default, _ATEN.sort.default, *_RANKED])
"""Operators whose places of equal elements torch leaves open."""

_ORDERS = {*UNSTABLE, _ATEN.sort.stable}


class InOrder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Has the operators of UNSTABLE return equal elements in the order that they have."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        return in_order(func, args, given) if func in UNSTABLE else func(*args, **given)


def orders_of(graph: Graph) -> AbstractContextManager[Any]:
    """InOrder around calls of a graph, or of its module, that orders elements."""
    orders = any(node.target in _ORDERS for node in graph.nodes)
    return InOrder() if orders else nullcontext()


def in_order(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """Results of an operator of UNSTABLE, with equal elements in the order that they have.

    Args:
        args, kwargs: of the operator.
    """
    names = [argument.name for argument in operator._schema.arguments]
    defaults = {each.name: each.default_value for each in operator._schema.arguments}
    given = defaults | dict(zip(names, args, strict=False)) | kwargs
    source, dim = given["self"], given["dim"]
    if operator is _ATEN.median.dim and source.isnan().any():
        # Orders have NaN last, but any is the median.
        return operator(*args, **kwargs)  # type: ignore[no-any-return]
    is_descending = bool(given.get("descending", given.get("largest")))
    values, places = torch.sort(source, stable=True, dim=dim, descending=is_descending)
    if operator in _RANKED and source.ndim:
        return _ranked(values, given), _ranked(places, given)
    if operator is _ATEN.topk.default and source.ndim:
        return values.narrow(dim, 0, given["k"]), places.narrow(dim, 0, given["k"])
    return values, places


def _ranked(ordered: Tensor, given: dict[str, Any]) -> Tensor:
    """The element of a rank, the middle one by default."""
    dim = given["dim"]
    rank = given.get("k", (ordered.shape[dim] + 1) // 2) - 1
    return ordered.narrow(dim, rank, 1) if given["keepdim"] else ordered.select(dim, rank)
