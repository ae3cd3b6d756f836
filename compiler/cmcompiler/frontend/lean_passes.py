"""ExecuTorch's passes without walks that change nothing and code that nothing runs. Importing it
imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from executorch.backends.transforms.remove_getitem_op import RemoveGetItemPass
from executorch.exir.passes.dim_order_ops_registry import DimOrderOpsMap
from executorch.exir.passes.memory_format_ops_pass import MemoryFormatOpsPass
from executorch.exir.passes.normalize_transpose_pass import NormalizeTransposePass
from executorch.exir.passes.remove_mixed_type_operators import RemoveMixedTypeOperators
from executorch.exir.passes.replace_broken_ops_with_function_ops_pass import (
    ReplaceBrokenOpsWithFunctionalOpsPass,
)
from executorch.exir.passes.scalar_to_tensor_pass import ScalarToTensorPass
from executorch.exir.passes.sym_to_tensor_pass import SymToTensorPass
from torch import SymBool, SymFloat, SymInt, Tensor
from torch._export.passes.replace_view_ops_with_view_copy_ops_pass import (
    ReplaceViewOpsWithViewCopyOpsPass,
)
from torch._export.utils import _collect_all_valid_cia_ops as _collect
from torch._ops import OperatorBase, OpOverload
from torch.export import decomp_utils, exported_program
from torch.fx import GraphModule, Node
from torch.fx.graph import _PyTreeCodeGen
from torch.fx.passes.infra.pass_base import PassBase, PassResult

_aten = torch.ops.aten

_INDICES = {"aten.max_pool2d_with_indices.default", "aten.max.dim"}
_PROMOTED = {
    *(_aten.add.Tensor, _aten.sub.Tensor, _aten.mul.Tensor, _aten.minimum.default),
    *(_aten.div.Tensor, _aten.div.Tensor_mode),
}


@contextmanager
def lean_passes() -> Iterator[None]:
    """Skips passes that compute a whole graph anew where no node is one that they are for: a tenth
    of what lowering takes. Lists torch's operators only after new ones: a quarter of it for a small
    network. Writes and compiles a graph's Python code only when it is called or read.
    """
    try:
        GraphModule.recompile = _postponed  # type: ignore[assignment, method-assign]
        for module in _LISTING:
            module._collect_all_valid_cia_ops = _composites.get  # type: ignore[attr-defined]
        for each, is_for in _FOR.items():
            each.__call__ = _if_any(each.__call__, is_for)  # type: ignore[assignment, method-assign]
        yield
    finally:
        GraphModule.recompile = _recompile  # type: ignore[method-assign]
        for each in _FOR:
            del each.__call__
        for module in _LISTING:
            module._collect_all_valid_cia_ops = _collect  # type: ignore[attr-defined]


_recompile = GraphModule.recompile
_CODE = ("_code", "_lineno_map", "_prologue_start")


def _postponed(graph_module: GraphModule) -> None:
    """Compiles a graph that has changed before its first call, instead of now."""
    if isinstance(codegen := graph_module.graph._codegen, _PyTreeCodeGen):
        graph_module._in_spec = codegen.pytree_info.in_spec
        graph_module._out_spec = codegen.pytree_info.out_spec
    for name in _CODE:
        graph_module.__dict__.pop(name, None)
    # A graph module has a class of its own.
    of_its_own: Any = type(graph_module)
    of_its_own.forward = _compiled_forward
    of_its_own._code = property(_written_code, _keep_code)


def _compiled(graph_module: GraphModule) -> GraphModule:
    of_its_own: Any = type(graph_module)
    if "_code" in vars(of_its_own):
        del of_its_own._code
        _recompile(graph_module)
    return graph_module


def _compiled_forward(graph_module: GraphModule, *args: Any, **kwargs: Any) -> Any:
    return _compiled(graph_module).forward(*args, **kwargs)


def _written_code(graph_module: GraphModule) -> str:
    return _compiled(graph_module).code


def _keep_code(graph_module: GraphModule, code: str) -> None:
    """Takes what another compiled after all."""
    of_its_own: Any = type(graph_module)
    del of_its_own._code
    graph_module._code = code


class _Composites:
    """Operators that are composed of others, listed again once any are registered."""

    def __init__(self) -> None:
        self._known: tuple[int, ...] = ()
        self._operators: set[OperatorBase] = set()

    def get(self) -> set[OperatorBase]:
        if self._known != self._registered():
            self._operators = _collect()
            # Listing them makes torch know more of them by name.
            self._known = self._registered()
        return self._operators

    @staticmethod
    def _registered() -> tuple[int, ...]:
        """How many there are, and names in each namespace."""
        composites = torch._C._dispatch_get_registrations_for_dispatch_key(
            "CompositeImplicitAutograd"
        )
        namespaces = (getattr(torch.ops, name) for name in torch.ops._dir)
        return len(composites), *(len(each._dir) for each in namespaces if hasattr(each, "_dir"))


_composites = _Composites()
_LISTING = (decomp_utils, exported_program)
"""Modules of torch that list them, twice an export and in each of 48 namespaces."""


def _if_any(
    call: Callable[[PassBase, GraphModule], PassResult | None], is_for: Callable[[Node], bool]
) -> Callable[[PassBase, GraphModule], PassResult | None]:
    def called(self: PassBase, graph_module: GraphModule) -> PassResult | None:
        modules = [each for each in graph_module.modules() if isinstance(each, GraphModule)]
        calls = [n for each in modules for n in each.graph.nodes if n.op == "call_function"]
        if any(map(is_for, calls)):
            return call(self, graph_module)
        return PassResult(graph_module, False)

    return called


def _has_indices(node: Node) -> bool:
    return getattr(node.target, "__name__", "") in _INDICES


def _is_transposed(node: Node) -> bool:
    return node.target is _aten.t.default


def _is_view(node: Node) -> bool:
    if not isinstance(node.target, OpOverload):
        return False
    return node.target.is_view or node.target is _aten._unsafe_view.default


def _has_format(node: Node) -> bool:
    return node.target in DimOrderOpsMap


def _is_symbolic(node: Node) -> bool:
    return isinstance(node.meta.get("val"), SymInt | SymFloat | SymBool)


def _has_numbers(node: Node) -> bool:
    """Whether a number stands where an operator has a tensor."""
    if not isinstance(node.target, OpOverload):
        return False
    parameters = node.target._schema.arguments
    names = [each.name for each in parameters]
    given: dict[str, Any] = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    return any(
        isinstance(each.type, torch.TensorType) and isinstance(given.get(each.name), int | float)
        for each in parameters
    )


def _is_mixed(node: Node) -> bool:
    if node.target not in _PROMOTED:
        return False
    values = [each.meta.get("val") for each in node.all_input_nodes]
    types = {value.dtype if isinstance(value, Tensor) else None for value in values}
    return len(values) != 2 or len(types) > 1 or not all(t and t.is_floating_point for t in types)


_FOR: dict[type[PassBase], Callable[[Node], bool]] = {
    RemoveGetItemPass: _has_indices,
    NormalizeTransposePass: _is_transposed,
    ReplaceBrokenOpsWithFunctionalOpsPass: _is_view,
    ReplaceViewOpsWithViewCopyOpsPass: _is_view,
    MemoryFormatOpsPass: _has_format,
    ScalarToTensorPass: _has_numbers,
    SymToTensorPass: _is_symbolic,
    RemoveMixedTypeOperators: _is_mixed,
}
