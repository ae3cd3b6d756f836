"""Parts of torch and torchao that exports import but do not call; they load when they are used.

Importing this module does not import torch.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.fx import Graph

_DECOMPOSITIONS = "torch._inductor.fx_passes.post_grad"
"""Whence torch.export has the function that replaces functionalized operators."""

_FUNCTIONALIZED = {"auto_functionalized", "auto_functionalized_v2", "control_deps"}
"""The operators that it replaces, and those whose subgraphs may have some."""

_LATE = (
    # Dynamo knows parameters that are divided among devices.
    "torch.distributed.fsdp",
    _DECOMPOSITIONS,
    # ExecuTorch's Arm backend has operators in block-scaled formats; these are their kernels.
    "torchao.prototype.mx_formats.kernels",
)


def delay() -> None:
    """Delays the modules that are not imported yet: half a second of processor time."""
    is_delayed = any(isinstance(finder, _Finder) for finder in sys.meta_path)
    if not is_delayed and _DECOMPOSITIONS not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder, Loader):
    """Finds a stand-in for each late module and for those below it."""

    def __init__(self) -> None:
        self._asked: list[str] = []

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if not any(_is_below(fullname, late) for late in _LATE):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self._asked.append(spec.name)
        return _StandIn(spec.name, self)

    def exec_module(self, module: ModuleType) -> None:
        """A stand-in has nothing of its own to execute."""

    def load(self) -> None:
        """Imports all modules themselves, in the order in which they would have been: some need
        what others register with torch.
        """
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            for name in self._asked:
                sys.modules.pop(name, None)
            for name in self._asked:
                import_module(name)


class _StandIn(ModuleType):
    """A module whose attributes are proxies."""

    def __init__(self, name: str, finder: _Finder) -> None:
        super().__init__(name)
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if (self.__name__, name) == (_DECOMPOSITIONS, "decompose_auto_functionalized"):
            return _Decomposition(self, name)
        return _Proxy(self, name)


class _Proxy:
    """A function or class of a late module, which is imported when this is called, read or asked
    for its instances.
    """

    def __init__(self, module: _StandIn, name: str) -> None:
        self._module, self._name = module, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._itself()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._itself(), name)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._itself())

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[Any]:
        return (self._itself(),)

    def _itself(self) -> Any:
        self._module._finder.load()
        return getattr(import_module(self._module.__name__), self._name)


class _Decomposition(_Proxy):
    """Replaces functionalized operators of a graph, which few have."""

    def __call__(self, graph: Graph) -> None:
        from torch._ops import HigherOrderOperator

        targets = [node.target for node in graph.nodes]
        names = [str(each) for each in targets if isinstance(each, HigherOrderOperator)]
        if not _FUNCTIONALIZED.isdisjoint(names):
            super().__call__(graph)


def _is_below(name: str, root: str) -> bool:
    return name == root or name.startswith(f"{root}.")
