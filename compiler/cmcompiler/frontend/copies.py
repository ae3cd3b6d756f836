"""Copies of modules, also of those that hold tensors which torch cannot copy.

Importing this module does not import torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pickle import PickleError
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch

_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
_SHARED = (type, ModuleType, FunctionType)
"""Objects that a copy has in common with the original."""

M = TypeVar("M", bound="torch.nn.Module")


def copied(module: M, others: Mapping[int, Any] | None = None) -> M:
    """A deep copy in which activations, and other results of operators, are plain tensors.

    A module may keep what it computed: a feature, an attention map, the weights of weight_norm.
    torch copies only tensors that are not results of operators, and no compressed sparse ones.
    What cannot be copied, as a function of torch.jit.script or a lock, is shared.

    Args:
        others: what takes the place of objects in the copy, by their ids.
    """
    import torch

    memo: dict[int, Any] = {}
    for x in tensors_of(module):
        if x.layout in (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc):
            memo[id(x)] = x.detach().to_dense().to_sparse()
        elif not x.is_leaf:
            memo[id(x)] = x.detach().clone()
    memo.update(others or {})
    made = dict(memo)
    try:
        copy: M = deepcopy(module, made)
    except (PickleError, TypeError):
        made = {**memo, **{id(each): each for each in _objects_of(module) if _is_shared(each)}}
        copy = deepcopy(module, made)
    _adopt_hooks(copy, made)
    return copy


def _is_shared(held: object) -> bool:
    """Whether an object can be copied neither as it is nor by its attributes."""
    import torch

    if isinstance(held, (torch.Tensor, torch.nn.Module, Mapping, list, tuple, set, frozenset)):
        return False
    try:
        deepcopy(held)
    except (PickleError, TypeError):
        return True
    return False


def _adopt_hooks(copy: torch.nn.Module, memo: Mapping[int, Any]) -> None:
    """Makes hooks that know the original, as one that stores a feature in it, know the copy."""
    for part in copy.modules():
        for name in _HOOKS:
            hooks = vars(part).get(name, {})
            for key, hook in hooks.items():
                if isinstance(hook, FunctionType) and hook.__closure__:
                    hooks[key] = _with_cells(hook, memo)


def _with_cells(function: FunctionType, memo: Mapping[int, Any]) -> FunctionType:
    """A function whose variables from around it are copies, where there are any."""
    cells = []
    for cell in function.__closure__ or ():
        try:
            held = cell.cell_contents
        except ValueError:  # a variable without a value
            cells.append(cell)
        else:
            cells.append(CellType(memo[id(held)]) if id(held) in memo else cell)
    made = FunctionType(
        *(function.__code__, function.__globals__, function.__name__, function.__defaults__),
        tuple(cells),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def in_eval_mode(module: torch.nn.Module) -> torch.nn.Module:
    """The module, or a copy if its mode is another."""
    from torch.fx import GraphModule

    # An exported graph has its mode traced in and refuses eval().
    if isinstance(module, GraphModule) or not any(part.training for part in module.modules()):
        return module
    return copied(module).eval()


def tensors_of(holder: object) -> Iterator[torch.Tensor]:
    """Tensors, wherever a module or a result holds them."""
    import torch

    return (each for each in _objects_of(holder) if isinstance(each, torch.Tensor))


def _objects_of(holder: object) -> Iterator[Any]:
    """All objects that a module or a result holds, and itself."""
    import torch

    seen: set[int] = set()
    ahead: list[Any] = [holder]
    while ahead:
        each = ahead.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, torch.Tensor):
            continue
        if isinstance(each, Mapping):
            ahead += each.values()
        elif isinstance(each, (list, tuple, set, frozenset)):
            ahead += each
        elif hasattr(each, "__dict__") and not isinstance(each, _SHARED):
            ahead += vars(each).values()
