"""Exports modules channels-last, whatever layout they expect. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.node import map_arg
from torch.nn.modules.module import register_module_buffer_registration_hook

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.computed_places import ComputedPlaces
from cmcompiler.frontend.encoder_masks import masks_as_in_inference
from cmcompiler.frontend.graph_names import without_own_names
from cmcompiler.frontend.hints import explained
from cmcompiler.frontend.known_buffers import KnownBuffers
from cmcompiler.frontend.passes.functionalization import (
    refuse_lost_writes,
    restore_batch_norms,
)
from cmcompiler.frontend.traceable_forms import TraceableForms
from cmcompiler.usercode import unsupported

_HINT = "try torch.export.export(module, example_inputs) on its own"

_aten = torch.ops.aten
_VIEWS = {_aten.view.default, _aten._unsafe_view.default}
"""Operators that are possible for some layouts only; a reshape gives the same values in any."""
_BY_STRIDES = {_aten.as_strided.default, _aten.as_strided_copy.default}
"""Operators whose result depends on where elements lie."""


def channels_last(tensor: Tensor) -> Tensor:
    """A copy of an input in the memory layout that the program expects."""
    layout = torch.channels_last if tensor.ndim == 4 else torch.contiguous_format
    # With one channel, contiguous() would keep the strides, but the exported dim order depends on
    # them.
    return torch.empty(tensor.shape, dtype=tensor.dtype, memory_format=layout).copy_(tensor)


def export(module: torch.nn.Module, inputs: tuple[Tensor, ...]) -> ExportedProgram:
    """
    Raises:
        Unsupported: torch.export cannot take the module, or loses what it writes into a constant.
    """
    told = unsupported("torch.export", _HINT)
    with ExitStack() as modes:
        for entered in (told, explained(), _without_results(module), _distinct_states(module)):
            modes.enter_context(entered)
        modes.enter_context(masks_as_in_inference())
        for mode in (ComputedPlaces(), TraceableForms(), KnownBuffers(module, inputs)):
            modes.enter_context(mode)
        program: ExportedProgram = torch.export.export(module, inputs)
    refuse_lost_writes(program)
    return without_own_names(program)


@contextmanager
def _distinct_states(module: torch.nn.Module) -> Iterator[None]:
    """Lets a module assign an input or a buffer to one of its buffers, `self.last = x`.

    torch.export takes only what is computed.
    """

    def copied(part: torch.nn.Module, _: str, value: Tensor | None) -> Any:
        is_own = part._buffers is module._buffers
        return value.clone() if is_own and value is not None else None

    hook: Any = register_module_buffer_registration_hook(copied)
    try:
        yield
    finally:
        hook.remove()


@contextmanager
def _without_results(module: torch.nn.Module) -> Iterator[None]:
    """Removes what a module has first kept while it is exported, as a cached property: it has no
    values.
    """
    held = [(part, frozenset(vars(part))) for part in module.modules()]
    try:
        yield
    finally:
        for part, names in held:
            for name in vars(part).keys() - names:
                del vars(part)[name]


def export_channels_last(module: torch.nn.Module, inputs: Sequence[Tensor]) -> ExportedProgram:
    """
    Args:
        inputs: examples, channels-last.

    Raises:
        Unsupported: torch.export cannot take the module with inputs in its default layout either.
    """
    try:
        exported = export(module, tuple(inputs))
        if not _depends_on_layout(exported):
            return exported
    except Unsupported:
        if all(x.ndim != 4 for x in inputs):
            raise
    # A copy of its own: an image of one channel is contiguous with any strides.
    plain = (torch.empty(x.shape, dtype=x.dtype).copy_(x) for x in inputs)
    return _from_default_layout(export(module, tuple(plain)))


def _depends_on_layout(program: ExportedProgram) -> bool:
    return any(node.target in _BY_STRIDES for node in program.graph.nodes)


def _from_default_layout(program: ExportedProgram) -> ExportedProgram:
    """A program that takes inputs channels-last, and copies where the module only views.

    Only a graph without writes is free to copy: what is written to a copy does not reach the
    original.
    """
    program = program.run_decompositions({})
    graph = program.graph_module
    restore_batch_norms(graph)
    names = set(program.graph_signature.user_inputs)
    for node in list(graph.graph.nodes):
        if node.op == "placeholder" and node.name in names:
            node.meta["val"] = _arranged(node.meta["val"])
        elif node.op == "call_function" and not isinstance(node.target, HigherOrderOperator):
            node.target = _aten.reshape.default if node.target in _VIEWS else node.target
            if node.target in _BY_STRIDES:
                _read_default_layouts(node)
            try:
                node.meta["val"] = _computed(node)
            except RuntimeError:  # it needs the strides that the module's author had
                _read_default_layouts(node)
                node.meta["val"] = _computed(node)
    graph.recompile()
    return program


def _arranged(value: Any) -> Any:
    """A value without data, channels-last."""
    if not isinstance(value, Tensor) or value.ndim != 4:
        return value
    with value.fake_mode:  # type: ignore[attr-defined]
        return torch.empty(value.shape, dtype=value.dtype, memory_format=torch.channels_last)


def _read_default_layouts(node: Node) -> None:
    """Makes an operator read copies in torch's default layout."""
    copies: dict[Node, Node] = {}
    for each in node.all_input_nodes:
        value = each.meta.get("val")
        if not isinstance(value, Tensor) or value.is_contiguous():
            continue
        with node.graph.inserting_before(node):
            copies[each] = node.graph.call_function(_aten.clone.default, (each,))
            copies[each].update_kwarg("memory_format", torch.contiguous_format)
        copies[each].meta = {**node.meta, "val": _computed(copies[each])}
    for each, copy in copies.items():
        node.replace_input_with(each, copy)


def _computed(node: Node) -> Any:
    """The result of an operator, without data."""
    return node.target(*map_arg(node.args, _value), **map_arg(node.kwargs, _value))  # type: ignore[operator]


def _value(node: Node) -> Any:
    return node.meta["val"]
