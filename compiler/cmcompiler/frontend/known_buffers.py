"""Values of buffers that nothing writes, and of constants. Importing it imports torch.

`if self.initialized:`, `x[:, self.mask]` and `int(self.steps)` ask for values, which an export does
not know of any tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_unflatten

from cmcompiler.frontend.buffers import WithStates, mutable_buffers

_ASKING = {
    *(Tensor.__bool__, Tensor.__int__, Tensor.__float__, Tensor.__index__),
    *(Tensor.item, Tensor.tolist),
}
_COUNTED = "num_batches_tracked"
"""A buffer of every batch norm, which no inference asks for."""


class KnownBuffers(TorchFunctionMode):
    """Answers with the values of masks and single numbers, and of what is computed from these.

    An index by a mask becomes one by the places where it is true. What is written into a tensor, or
    into a view of it, makes its value unknown.
    """

    def __init__(self, module: torch.nn.Module, inputs: Sequence[Tensor]) -> None:
        super().__init__()
        small = {
            name: buffer
            for name, buffer in module.named_buffers()
            if _is_small(buffer) and name.rpartition(".")[2] != _COUNTED
        }
        written = set(mutable_buffers(module, inputs)) if small else set()
        if isinstance(module, WithStates):
            written |= {f"module.{name}" for name in module.names}
        self._held = [
            (module.get_submodule(path), name, buffer.detach().clone())
            for full, buffer in small.items()
            if full not in written
            for path, _, name in (full.rpartition("."),)
        ]
        self._computed: dict[int, tuple[Tensor, Tensor, int]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _ASKING and (value := self._value(args[0])) is not None:
            with _disable_current_modes():
                return func(value, *args[1:])
        if func is Tensor.__getitem__:
            args = args[0], self._by_places(args[1])
        values = self._values(func, args, kwargs)
        result = func(*args, **kwargs)
        if values is not None and isinstance(result, Tensor):
            self._note(result, func, *values)
        return result

    def _value(self, tensor: Any) -> Tensor | None:
        """What a tensor of the export holds; None if it is not known."""
        if id(tensor) in self._computed:
            _, value, version = self._computed[id(tensor)]
            return value if tensor._version == version else None
        held = (value for part, name, value in self._held if getattr(part, name, None) is tensor)
        return next(held, None)

    def _values(self, func: Any, args: Any, kwargs: Any) -> tuple[Any, Any] | None:
        """The arguments of a function with the values of its operands; None if one is not known."""
        given, form = tree_flatten((args, kwargs))
        values = [self._value(each) if isinstance(each, Tensor) else each for each in given]
        tensors = [x for x, each in zip(values, given, strict=True) if isinstance(each, Tensor)]
        if any(x is None for x in tensors) or not (tensors or func is torch.tensor):
            return None
        known: tuple[Any, Any] = tree_unflatten(values, form)
        return known

    def _note(self, result: Tensor, func: Any, args: Any, kwargs: Any) -> None:
        """Computes a result of known operands, unless it is drawn at random."""
        mode = _WithoutDraws()  # type: ignore[no-untyped-call]
        with suppress(_Drawn), _disable_current_modes(), mode:
            value = func(*args, **kwargs)
            # A copy of a value is no view, and has no `_base`.
            if isinstance(value, Tensor) and _is_small(value):
                self._computed[id(result)] = result, value, result._version

    def _by_places(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        places = [self._places(part) for part in parts]
        if all(each is None for each in places):
            return index
        both = zip(parts, places, strict=True)
        return tuple(x for part, found in both for x in ((part,) if found is None else found))

    def _places(self, part: Any) -> tuple[Tensor, ...] | None:
        """The places where a known mask is true, in each of its dimensions."""
        value = self._value(part) if isinstance(part, Tensor) else None
        if value is None or value.dtype != torch.bool or not value.ndim:
            return None
        with _disable_current_modes():
            return value.nonzero(as_tuple=True)


class _Drawn(Exception):
    pass


class _WithoutDraws(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses to draw random numbers, with _Drawn."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise _Drawn
        return func(*args, **(kwargs or {}))


def _is_small(tensor: Tensor) -> bool:
    return tensor.dtype == torch.bool or tensor.numel() == 1
