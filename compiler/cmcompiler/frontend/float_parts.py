"""Computes parts of a prepared graph in float, without rounding between their operators.

Importing it imports torch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._decomp import get_decompositions
from torch._ops import OpOverload
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten
from torchao.quantization.pt2e import DerivedObserverOrFakeQuantize

from cmcompiler.frontend import backend
from cmcompiler.frontend.float_form import FLOAT_FORMS, UNROUNDED_FORMS
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.rewrites.editing import constant, constant_value, is_constant

_PACKETS = {
    *("add", "sub", "mul", "div", "neg", "abs", "square", "pow", "sqrt", "rsqrt", "reciprocal"),
    *("exp", "log", "log2", "log10", "log1p", "expm1", "sigmoid", "tanh", "relu", "silu", "gelu"),
    *("clamp", "clamp_min", "clamp_max", "hardtanh", "hardsigmoid", "hardswish", "leaky_relu"),
    *("maximum", "minimum", "where", "gt", "ge", "lt", "le", "eq", "ne", "rsub", "lerp", "elu"),
    *("sum", "mean", "amax", "amin", "softmax", "_softmax", "log_softmax", "_log_softmax"),
    *("linear", "matmul", "mm", "bmm", "addmm", "conv2d", "softplus", "sin", "cos", "erf"),
    *("layer_norm", "group_norm"),
    *("view", "reshape", "permute", "transpose", "unsqueeze", "squeeze", "flatten", "slice", "t"),
    *("select", "expand", "contiguous", "clone", "unflatten", "cat", "stack", "full", "logsumexp"),
    *("upsample_nearest2d", "max_pool2d", "avg_pool2d", "constant_pad_nd", "pad", "cumsum"),
    *("copy", "new_empty", "empty_like", "detach", "alias", "lift_fresh_copy", "scalar_tensor"),
    *("nan_to_num", "isnan", "isinf", "logical_not", "logical_and", "logical_or", "sign"),
    *("floor", "ceil", "round", "trunc", "remainder", "fmod", "atan", "atan2", "cumprod"),
    *("flip", "roll", "repeat", "gather", "index_select", "reflection_pad1d", "reflection_pad2d"),
    *("new_full", "full_like", "zeros_like", "ones_like", "masked_fill", "_unsafe_view"),
}
"""Operators of ATen that have float kernels."""

_WRITTEN_OUT = (
    *(torch.ops.aten.frac, torch.ops.aten.hardshrink, torch.ops.aten.threshold),
    *(torch.ops.aten.heaviside, torch.ops.aten.sgn),
)
"""Operators without one, of others that have."""

_ARITHMETIC = {
    *(torch.ops.aten.add.Tensor, torch.ops.aten.sub.Tensor),
    *(torch.ops.aten.mul.Tensor, torch.ops.aten.div.Tensor),
}


@dataclass(frozen=True, slots=True)
class _Before:
    """A node as it was before a change."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    meta: Mapping[str, Any]


class UnroundedPart:
    """Operators of a prepared graph that compute in float, until it is undone or kept."""

    def __init__(self, prepared: GraphModule) -> None:
        self._graph: Graph = prepared.graph
        self._before = {
            node: _Before(node.args, node.kwargs, dict(node.meta)) for node in self._graph.nodes
        }
        self.members: set[Node] = set()
        self.exact: set[Node] = set()
        self._results: dict[Node, Node] = {}

    def extend(
        self, nodes: Iterable[Node], states: Collection[int] = (), inputs: Collection[Node] = ()
    ) -> bool:
        """Computes these in float, and what the quantizer joined with them.

        Args:
            inputs: of the graph, or results in float: the part reads them as they are.
            states: positions among inputs and outputs, from the end, of states that are not
                rounded.

        Returns: whether that is possible; if not, nothing changes.
        """
        joined = set(_joined(nodes))
        if not all(has_float_form(node) for node in joined):
            return False
        self.members |= joined
        self.exact |= set(inputs)
        for node in list(self._graph.nodes):
            if node in joined:
                backend.mark_as_float(node)
        given = [node for node in self._graph.nodes if node.op == "placeholder"]
        self.exact |= {given[state] for state in states}
        for node in list(self._graph.nodes):
            if node in self.members:
                node.args = map_arg(node.args, self._direct)
                node.kwargs = map_arg(node.kwargs, self._direct)
        *_, output = self._graph.nodes
        leaves, form = tree_flatten(output.args[0])
        for state in states:
            leaves[state] = self._direct(leaves[state])
        output.args = (tree_unflatten(leaves, form),)
        for node in list(self._graph.nodes):
            if node in joined and _name(node).startswith("cmbuild::"):
                self._results[node] = inline(node, _form(node), self.members)
        return True

    def read_by_outputs(self) -> None:
        """Has outputs take results in float."""
        *_, output = self._graph.nodes
        leaves, form = tree_flatten(output.args[0])
        output.args = (tree_unflatten([self._unrounded(leaf) for leaf in leaves], form),)

    @staticmethod
    def takes_along(node: Node, targets: Collection[Any]) -> bool:
        """Whether a node is one of some operators, or would take one with it."""
        return any(each.target in targets for each in _joined([node]))

    def result(self, node: Node) -> Node:
        """The node that computes what another did."""
        return self._results.get(node, node)

    def undo(self) -> None:
        for node, before in self._before.items():
            node.args, node.kwargs = before.args, dict(before.kwargs)
            node.meta.clear()
            node.meta.update(before.meta)
        for node in reversed(list(self._graph.nodes)):
            if node not in self._before:
                self._graph.erase_node(node)

    def keep(self) -> frozenset[str]:
        """Removes what is unused; returns the names of the operators in float."""
        for node in reversed(list(self._graph.nodes)):
            if node.op not in ("output", "placeholder") and not node.users:
                self._graph.erase_node(node)
        return frozenset(
            node.name
            for node in self._graph.nodes
            if node.op == "call_function" and (node in self.members or node not in self._before)
        )

    def _unrounded(self, leaf: Any) -> Any:
        return self._direct(leaf) if isinstance(leaf, Node) else leaf

    def _direct(self, argument: Node) -> Node:
        """The argument of an operator in float in place of one that is rounded for others."""
        if argument.op != "call_module":
            return argument
        finest = _finest(argument)
        (source, *_) = finest.all_input_nodes
        if is_constant(source) or _is_derived(argument):
            return source
        return source if source in self.members or source in self.exact else finest


def _joined(nodes: Iterable[Node]) -> Iterator[Node]:
    """Nodes, and others that nothing separates from them by rounding."""
    reached, left = set(nodes), list(nodes)
    while left:
        node = left.pop()
        yield node
        more = [each for each in (*node.all_input_nodes, *node.users) if _is_quantized(each)]
        left += [each for each in more if each not in reached]
        reached.update(more)


def _is_quantized(node: Node) -> bool:
    return node.op == "call_function" and backend.is_quantized(node)


def has_float_form(node: Node) -> bool:
    """Whether an operator can be computed in float."""
    name = _name(node)
    if not isinstance(node.meta.get("val"), Tensor):
        return False
    if name.startswith("cmbuild::"):
        return name in FLOAT_FORMS and _is_inlined(node)
    namespace, _, operator_name = name.partition("::")
    return namespace == "aten" and operator_name in _PACKETS


def _name(node: Node) -> str:
    return node.target._schema.name if isinstance(node.target, OpOverload) else ""


def source_of(held: Node) -> Node:
    """The node that is rounded to a range; numbers of 16 bits may be rounded to 8 once more."""
    return _finest(held).all_input_nodes[0]


def _finest(held: Node) -> Node:
    """The first of several nodes that round a tensor."""
    while (source := held.all_input_nodes[0]).op == "call_module":
        held = source
    return held


def _is_derived(node: Node) -> bool:
    return isinstance(observer_of(node), DerivedObserverOrFakeQuantize)


def _is_inlined(node: Node) -> bool:
    calls = _calls(_traced(node, _form(node)))
    return all(_name(each).removeprefix("aten::") in _PACKETS for each in calls)


def _form(node: Node) -> Callable[..., Any]:
    """The function of tensors that an operator of the compiler's own computes without rounding."""
    name = _name(node)
    return UNROUNDED_FORMS.get(name) or FLOAT_FORMS[name]


def _calls(graph: Graph) -> Iterator[Node]:
    yield from (node for node in graph.nodes if node.op == "call_function")


def _traced(node: Node, form: Callable[..., Any]) -> Any:
    """The graph of ATen operators that computes an operator of the compiler's own."""
    sources = node.all_input_nodes

    def compute(*tensors: Tensor) -> Any:
        given = dict(zip(sources, tensors, strict=True))
        arguments = map_arg(node.args, given.__getitem__)
        return form(*arguments)

    written_out: Any = get_decompositions(_WRITTEN_OUT)
    traced = make_fx(
        compute,
        decomposition_table=written_out,
        tracing_mode="real",
        pre_dispatch=_name(node) in UNROUNDED_FORMS,
    )
    graph = traced(*map(_example, sources)).graph
    _take_numbers(graph)
    return graph


def _take_numbers(graph: Graph) -> None:
    """Has arithmetic read numbers where it reads constant tensors of one element."""
    for node in _calls(graph):
        if node.target is torch.ops.aten.new_full.default and not node.args[1]:
            for user in list(node.users):
                if user.target in _ARITHMETIC and user.args[0] is not node:
                    user.replace_input_with(node, node.args[2])  # type: ignore[arg-type]
    graph.eliminate_dead_code()


def _example(node: Node) -> Tensor:
    if is_constant(node):
        return constant_value(node)
    if node.op == "call_module":
        return _example(node.all_input_nodes[0])
    value = node.meta["val"]
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).fill_(0.5)


def inline(node: Node, form: Callable[..., Any], members: set[Node]) -> Node:
    """Replaces an operator of the compiler's own by the ATen operators that compute it.

    Args:
        form: computes what the operator does.
        members: gets the nodes made.

    Returns: the node of the result, of the first of several.
    """
    traced = _traced(node, form)
    sources = iter(node.all_input_nodes)
    made: dict[Node, Node] = {}
    for each in traced.nodes:
        if each.op == "placeholder":
            made[each] = next(sources)
        elif each.op == "get_attr":
            value = operator.attrgetter(str(each.target))(traced.owning_module)
            made[each] = constant(node, f"{node.name}_{each.name}", value)
        elif each.op == "call_function":
            with node.graph.inserting_before(node):
                copy = node.graph.node_copy(each, made.__getitem__)
            copy.meta.update({k: v for k, v in node.meta.items() if k != "val"})
            copy.meta["val"] = each.meta.get("val", node.meta["val"])
            made[each] = copy
            members.add(copy)
        else:
            return _replace(node, [made[result] for result in tree_leaves(each.args[0])])
    raise AssertionError(f"{node} has no result")


def _replace(node: Node, results: Sequence[Node]) -> Node:
    """Has what reads a node, or its results if it has several, read others."""
    if isinstance(node.meta["val"], tuple | list):
        for user in list(node.users):
            user.replace_all_uses_with(results[user.args[1]])  # type: ignore[index]
    else:
        (result,) = results
        node.replace_all_uses_with(result)
    return results[0]
