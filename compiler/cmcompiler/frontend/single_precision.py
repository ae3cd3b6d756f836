"""Modules of any floating type as modules of float32. Importing it imports torch.

The compiler observes and quantises float32. Half, double and bfloat16 modules are copied with
their tensors converted, and compute as float32 whatever types their `forward` names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.fx.node import map_aggregate
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from cmcompiler.frontend.copies import copied, tensors_of

_OTHERS = (torch.float16, torch.bfloat16, torch.float64)
_SINGLE: dict[Any, Callable[..., Any]] = {
    **dict.fromkeys((Tensor.half, Tensor.bfloat16, Tensor.double), Tensor.float),
    **dict.fromkeys((torch.float_power, Tensor.float_power), torch.pow),
}
"""The form in float32 of functions whose name says another type."""


def single(inputs: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """The tensors, each converted if it is of another floating type."""
    return tuple(map(_single, inputs))


def _single(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in _OTHERS else tensor


def other_types(tensors: Iterable[Tensor]) -> tuple[str, ...]:
    """Names of the floating types of tensors, without float32."""
    types = {tensor.dtype for tensor in tensors}
    return tuple(str(dtype).removeprefix("torch.") for dtype in _OTHERS if dtype in types)


class FloatWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the floating types of the results of operators."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._types: dict[torch.dtype, Tensor] = {}

    @property
    def types(self) -> tuple[str, ...]:
        return other_types(self._types.values())

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(tensor, Tensor):
                self._types.setdefault(tensor.dtype, tensor)
        return result


def converted(module: torch.nn.Module) -> torch.nn.Module:
    """A copy that holds float32, and computes in it whatever `forward` asks for."""
    memo: dict[int, Any] = {}
    for tensor in tensors_of(module):
        if tensor.dtype in _OTHERS or not tensor.is_leaf:
            memo[id(tensor)] = _as_held(tensor)
    copy = copied(module, memo)
    for part in copy.modules():
        if isinstance(part, GraphModule):
            _name_single(part)
    if not isinstance(copy, GraphModule):
        copy.__class__ = _computing_single(type(copy))
    return copy


def _as_held(tensor: Tensor) -> Tensor:
    values = _single(tensor.detach()).clone()
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(values, tensor.requires_grad)
    return values


def _name_single(graph: GraphModule) -> None:
    """Replaces the types that an exported graph names."""
    for node in graph.graph.nodes:
        node.args = map_aggregate(node.args, _single_type)
        node.kwargs = map_aggregate(node.kwargs, _single_type)
    graph.recompile()


def _single_type(value: Any) -> Any:
    return torch.float32 if isinstance(value, torch.dtype) and value in _OTHERS else value


def _computing_single(of: type[torch.nn.Module]) -> type[torch.nn.Module]:
    """A subclass of the same name and arguments whose forward() has no other floating type."""
    original: Callable[..., Any] = of.forward

    @functools.wraps(original)
    def forward(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        with _Single(), _without_autocast():
            return original(self, *args, **kwargs)

    return type(of.__name__, (of,), {"forward": forward, "__module__": of.__module__})


@contextmanager
def _without_autocast() -> Iterator[None]:
    """Lets `torch.autocast` change nothing: it acts below what a TorchFunctionMode sees."""
    kind: Any = torch.autocast
    enter, leave = kind.__enter__, kind.__exit__
    kind.__enter__ = lambda self: self
    kind.__exit__ = lambda self, *raised: None
    try:
        yield
    finally:
        kind.__enter__, kind.__exit__ = enter, leave


class _Single(TorchFunctionMode):
    """Computes as float32 what is asked for in another floating type."""

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        func = _SINGLE.get(func, func)
        named = {name: _single_type(value) for name, value in (kwargs or {}).items()}
        return _single_results(func(*map(_single_type, args), **named))


def _single_results(result: Any) -> Any:
    if isinstance(result, Tensor):
        return _single(result)
    if type(result) in (tuple, list):
        return type(result)(map(_single_results, result))
    return result
