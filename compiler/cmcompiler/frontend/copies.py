"""Copies of modules, also of those that hold tensors which torch cannot copy.

Importing this module does not import torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch

_SHARED = (type, ModuleType, FunctionType)
"""Objects that a copy has in common with the original."""

M = TypeVar("M", bound="torch.nn.Module")


def copied(module: M) -> M:
    """A deep copy in which activations, and other results of operators, are plain tensors.

    A module may keep what it computed: a feature, an attention map, the weights of weight_norm.
    torch copies only tensors that are not results of operators.
    """
    results = (x for x in tensors_of(module) if not x.is_leaf)
    memo: dict[int, Any] = {id(x): x.detach().clone() for x in results}
    copy: M = deepcopy(module, memo)
    return copy


def in_eval_mode(module: torch.nn.Module) -> torch.nn.Module:
    """The module, or a copy if its mode is another."""
    from torch.fx import GraphModule

    # An exported graph has its mode traced in and refuses eval().
    if isinstance(module, GraphModule) or not any(part.training for part in module.modules()):
        return module
    return copied(module).eval()


def tensors_of(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Tensors, wherever the module holds them."""
    import torch

    seen: set[int] = set()
    ahead: list[Any] = [module]
    while ahead:
        each = ahead.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, torch.Tensor):
            yield each
        elif isinstance(each, Mapping):
            ahead += each.values()
        elif isinstance(each, (list, tuple, set, frozenset)):
            ahead += each
        elif hasattr(each, "__dict__") and not isinstance(each, _SHARED):
            ahead += vars(each).values()
