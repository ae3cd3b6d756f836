"""Orders of equal elements, as programs have them. Importing it imports torch.

torch's topk returns equal elements in any order; a program keeps the order that they have. Rounded
numbers are often equal.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_ATEN = torch.ops.aten
UNSTABLE = frozenset([_ATEN.topk.default, _ATEN.sort.default])
"""Operators whose places of equal elements torch leaves open."""


def in_order(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """What an operator of UNSTABLE returns, equal elements in the order that they have.

    Args:
        args, kwargs: of the operator.
    """
    names = [argument.name for argument in operator._schema.arguments]
    defaults = {each.name: each.default_value for each in operator._schema.arguments}
    given = defaults | dict(zip(names, args, strict=False)) | kwargs
    source, dim = given["self"], given["dim"]
    is_descending = given["largest" if operator is _ATEN.topk.default else "descending"]
    values, places = torch.sort(source, stable=True, dim=dim, descending=is_descending)
    if operator is _ATEN.topk.default and source.ndim:
        return values.narrow(dim, 0, given["k"]), places.narrow(dim, 0, given["k"])
    return values, places
