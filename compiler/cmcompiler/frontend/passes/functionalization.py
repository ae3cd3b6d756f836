"""Removes writes to inputs from an exported graph. Importing it imports torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.rewrites.control_flow import wrapped, write_out_parts
from cmcompiler.frontend.rewrites.memory import bases, is_seen_elsewhere, is_view, is_write
from cmcompiler.usercode import place_of_node

_DERIVATIVES = {"_unwrap_for_grad", "_grad_increment_nesting", "_jvp_increment_nesting"}
_BATCHES = {"_add_batch_dim"}
"""Names of functions that torch.func leaves in graphs."""

_COPY = torch.ops.aten.copy_.default
_CLONE = torch.ops.aten.clone.default
_INFERENCE_NORM = torch.ops.aten._native_batch_norm_legit_no_training.default


def without_writes(exported: ExportedProgram, states: int) -> GraphModule:
    """The graph of a program with writes to input clones replaced by values.

    If views are involved, also those of intermediate tensors, uses torch.export's own
    functionalisation, as for torch.vmap, of which it leaves the operators of a batch.

    Args:
        states: how many of the last inputs are cloned and written to.

    Raises:
        Unsupported: the program has derivatives.
    """
    module: GraphModule = exported.module(check_guards=False)
    write_out_parts(module)
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    try:
        _check_transforms(module)
        _check_views(module)
        _Writes(inputs[len(inputs) - states :]).remove_from(module)
    except _ViewIsInvolved:
        module = exported.run_decompositions({}).module(check_guards=False)
        restore_batch_norms(module)
    return module


def refuse_lost_writes(program: ExportedProgram) -> None:
    """
    Raises:
        Unsupported: the program writes into a parameter, which is a constant of it, or into another
            constant that it reads through views.
    """
    signature = program.graph_signature
    names = {**signature.inputs_to_parameters, **signature.inputs_to_lifted_tensor_constants}
    inputs = program.graph.find_nodes(op="placeholder")
    _refuse_writes(
        program.graph,
        {x: names[x.name] for x in inputs if x.name in names},
        set(signature.parameters),
    )


def _refuse_writes(
    graph: Graph, constants: Mapping[Node | None, str], parameters: Collection[str]
) -> None:
    """
    Args:
        constants: names of what the program does not compute, by the nodes that are it.
    """
    views = {_base(node) for node in graph.nodes if is_view(node) and not is_write(node)}
    for node in graph.nodes:
        written = _base(node) if is_write(node) else None
        if (name := constants.get(written)) is not None:
            if name in parameters:
                raise Unsupported(
                    f"{place_of_node(node)}forward() writes into the parameter {name}",
                    "limit weights once, before the export: those of a program are constant",
                )
            if written in views:
                raise Unsupported(
                    f"{place_of_node(node)}forward() writes into part of what is no buffer",
                    'self.register_buffer("name", …) in __init__',
                )
        if (part := wrapped(node)) is not None:
            inner, operands = part
            given = zip(inner.find_nodes(op="placeholder"), map(_base, operands), strict=True)
            held = {x: constants[y] for x, y in given if y in constants}
            _refuse_writes(inner, held, parameters)


def restore_batch_norms(module: GraphModule) -> None:
    """Makes whole again what torch.export splits even if told to decompose nothing."""
    for node in list(module.graph.nodes):
        if node.target is not _INFERENCE_NORM:
            continue
        *operands, momentum, eps = node.args
        with module.graph.inserting_before(node):
            arguments = (*operands, False, momentum, eps, False)
            whole = module.graph.call_function(torch.ops.aten.batch_norm.default, arguments)
        for result in list(node.users):
            if result.args[1] == 0:
                whole.meta.update(result.meta)
                result.replace_all_uses_with(whole)
            module.graph.erase_node(result)
        module.graph.erase_node(node)
    module.recompile()


class _ViewIsInvolved(Exception):
    pass


def _check_transforms(module: GraphModule) -> None:
    """
    Raises:
        _ViewIsInvolved: operators work on a view of a batch, as torch.vmap makes it.
        Unsupported: some work on derivatives.
    """
    for node in module.graph.nodes:
        name = getattr(node.target, "__name__", "")
        if node.op == "call_function" and name in _DERIVATIVES:
            raise Unsupported(
                f"{place_of_node(node)}derivatives cannot be part of a program",
                "write the derivative's formula",
            )
        if node.op == "call_function" and name in _BATCHES:
            raise _ViewIsInvolved


def _check_views(module: GraphModule) -> None:
    """
    Raises:
        _ViewIsInvolved: what is written to an intermediate tensor is read by another view of it.
    """
    order = {node: number for number, node in enumerate(module.graph.nodes)}
    for node in module.graph.nodes:
        if not is_write(node) or not isinstance(node.args[0], Node):
            continue
        base = bases(node)[-1]
        is_own = base.op == "call_function" and not is_write(base)
        if is_own and is_seen_elsewhere(node, order):
            raise _ViewIsInvolved


class _Writes:
    """The current value of inputs at each node of a graph.

    Args:
        inputs: each read only by a clone, which replaces it.
    """

    def __init__(self, inputs: list[Node]) -> None:
        self._input = {node: node for node in inputs}  # by the nodes that represent it
        self._value = dict(self._input)
        self._count: Counter[Node] = Counter()
        self._views: dict[Node, tuple[Node, int]] = {}  # views of an input, after so many writes

    def remove_from(self, module: GraphModule) -> None:
        """Replaces reads by the last written value.

        Raises:
            _ViewIsInvolved: a write through a view, or a read through one after a write.
        """
        dead = []
        for node in module.graph.nodes:
            first = next(iter(node.args), None)
            first = first if isinstance(first, Node) else None
            if node.target is _CLONE and first in self._value:
                self._input[node] = first
                dead.append(node)
            elif is_write(node) and first in self._input:
                target = self._input[node] = self._input[first]
                self._value[target] = self._written(module, node)
                self._count[target] += 1
                dead.append(node)
            elif is_write(node) and (first in self._views or _base(first) in self._held()):
                raise _ViewIsInvolved
            else:
                self._note_view(node, first)
                node.args = map_arg(node.args, self._current)
                node.kwargs = map_arg(node.kwargs, self._current)
        for node in reversed(dead):
            module.graph.erase_node(node)
        module.recompile()

    def _held(self) -> set[Node | None]:
        return {_base(value) for value in self._value.values()}

    def _written(self, module: GraphModule, node: Node) -> Node:
        """The value a node leaves in its first argument."""
        arguments = map_arg(node.args, self._current)
        if node.target is _COPY and _form(arguments[0]) == _form(arguments[1]):
            source = arguments[1]
            assert isinstance(source, Node)
            return source
        assert isinstance(node.target, OpOverload)
        namespace, _, name = node.target._schema.name.partition("::")
        packet = getattr(getattr(torch.ops, namespace), name.removesuffix("_"))
        functional = getattr(packet, node.target._overloadname)
        with module.graph.inserting_before(node):
            keywords = map_arg(node.kwargs, self._current)
            made: Node = module.graph.call_function(functional, arguments, keywords)
        made.meta.update(node.meta)
        return made

    def _current(self, node: Node) -> Node:
        if node in self._views and self._views[node][1] != self._count[self._views[node][0]]:
            raise _ViewIsInvolved
        return self._value[self._input[node]] if node in self._input else node

    def _note_view(self, node: Node, viewed: Node | None) -> None:
        if viewed in self._input and is_view(node):
            self._views[node] = self._input[viewed], self._count[self._input[viewed]]
        elif viewed in self._views and is_view(node):
            self._views[node] = self._views[viewed]


def _base(node: Node | None) -> Node | None:
    """The tensor that a view refers to, or that a write returns."""
    return None if node is None else bases(node)[-1]


def _form(node: Any) -> tuple[Any, ...]:
    value = node.meta["val"]
    return value.dtype, value.shape
