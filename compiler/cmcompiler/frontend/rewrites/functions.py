"""Makes one node of each chain of operators that is a function of one number.

A step of a chain is an element-wise operator on one tensor, the source, and on earlier steps of the
same source; all else in it is literal, or a constant of one element.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.frontend.expression import Step, Value, is_literal, text_of
from cmcompiler.frontend.rewrites.constants import number_of
from cmcompiler.frontend.rewrites.editing import fake, insert, is_constant, replace
from cmcompiler.frontend.rewrites.masked_softmax import is_mask_of_softmax

_ATEN = torch.ops.aten

UNTAGGED = {
    _ATEN.hardswish.default,
    _ATEN.log_sigmoid.default,
    _ATEN.prelu.default,
    _ATEN.rsub.Tensor,
    _ATEN.masked_fill.Tensor,
    _ATEN.where.Scalar,
    _ATEN.__and__.Tensor,
    _ATEN.__or__.Tensor,
    _ATEN.__xor__.Tensor,
    _ATEN.where.ScalarSelf,
    _ATEN.where.ScalarOther,
}
"""Element-wise operators that torch does not mark as such."""

CLAMPS = {
    _ATEN.relu.default,
    _ATEN.relu6.default,
    _ATEN.hardtanh.default,
    _ATEN.clamp.default,
}
FUSED = CLAMPS | {_ATEN.hardsigmoid.default}
"""Operators that the backend makes a bound or scale of the operator before."""

CLAMPING = {
    _ATEN.conv1d.default,
    _ATEN.conv2d.default,
    _ATEN.conv2d.padding,
    _ATEN.conv_transpose1d.default,
    _ATEN.conv_transpose2d.input,
    _ATEN.linear.default,
}
POOLS = {_ATEN.max_pool1d.default, _ATEN.max_pool2d.default}
SUMS = {_ATEN.add.Tensor, _ATEN.sub.Tensor}

TABLES = {
    *(_ATEN.sigmoid.default, _ATEN.tanh.default, _ATEN.silu.default),
    *(_ATEN.log.default, _ATEN.log2.default, _ATEN.log10.default, _ATEN.log1p.default),
    *(_ATEN.sqrt.default, _ATEN.rsqrt.default),
}
"""Functions that the backend makes tables of by itself."""


def join_functions(module: GraphModule) -> None:
    """Replaces each chain by `cmbuild::function`, except those that the backend does better."""
    # The source of a chain may be the result of an earlier one, which must not be gone by then.
    for source, steps in reversed(list(_chains(module))):
        if len(steps) == 1 and _has_rule(steps[0]):
            continue
        result = steps[-1]
        argument = _bounded(source, steps)
        made = insert(result, torch.ops.cmbuild.function.default, argument, _text(source, steps))
        replace(result, made)


def _chains(module: GraphModule) -> Iterator[tuple[Node, list[Node]]]:
    """Sources and steps in order, the last of which is used outside of the chain."""
    nodes = [node for node in module.graph.nodes if _is_step(node)]
    kept: set[Node] = set()
    while True:
        sources = _sources(nodes, kept)
        needed = {
            node
            for node, source in sources.items()
            if any(sources.get(user) is not source for user in node.users)
        }
        for node in [each for each in needed if _is_bool(each)]:
            needed.update(_compared(_steps_to(node, sources, kept)))
        if needed <= kept:
            break
        kept |= needed
    for node in nodes:
        if node in kept and node in sources and fake(node).dtype == torch.float32:
            yield sources[node], _steps_to(node, sources, kept)


def _compared(steps: list[Node]) -> Iterator[Node]:
    """Of steps that end in a bool, the floats that become one: a table cannot give a bool."""
    for step in steps:
        if not _is_bool(step) and any(_is_bool(user) and user in steps for user in step.users):
            yield step


def _is_bool(node: Node) -> bool:
    return bool(fake(node).dtype == torch.bool)


def _sources(nodes: list[Node], kept: set[Node]) -> dict[Node, Node]:
    """The source of each step; those in `kept` are a source for others."""
    replaced: dict[Node, Node] = {}
    for node in nodes:
        tensors = [each for each in node.all_input_nodes if number_of(each) is None]
        sources = {each if each in kept else replaced.get(each, each) for each in tensors}
        if len(sources) == 1:
            (source,) = sources
            if _is_real(source) and fake(source).shape == fake(node).shape:
                replaced[node] = source
    return replaced


def _steps_to(result: Node, sources: dict[Node, Node], kept: set[Node]) -> list[Node]:
    members, pending = {result}, [result]
    while pending:
        for each in pending.pop().all_input_nodes:
            if each in sources and each not in kept and each not in members:
                members.add(each)
                pending.append(each)
    return [node for node in sources if node in members]


def _is_step(node: Node) -> bool:
    target = node.target
    if not isinstance(target, OpOverload) or target.namespace != "aten":
        return False
    is_elementwise = torch.Tag.pointwise in target.tags or target in UNTAGGED
    if not is_elementwise or target._schema.is_mutable or target is _ATEN.clone.default:
        return False
    value = node.meta.get("val")
    if not isinstance(value, Tensor) or value.dtype not in (torch.float32, torch.bool):
        return False
    is_training = target is _ATEN.rrelu.default and any(node.args[3:4])
    is_own = is_training or is_fused(node) or is_mask_of_softmax(node)
    return _is_expressible(node) and not is_own


def _is_expressible(node: Node) -> bool:
    given: list[Any] = [*node.args, *node.kwargs.values()]
    return all(isinstance(each, Node) or is_literal(each) for each in given)


def _is_real(node: Node) -> bool:
    value = node.meta.get("val")
    is_float = isinstance(value, Tensor) and value.dtype == torch.float32
    return is_float and not is_constant(node)


def is_fused(node: Node) -> bool:
    """Whether the backend makes the node a part of the operator before it."""
    if node.target not in FUSED:
        return False
    source = node.args[0]
    if not isinstance(source, Node) or len(source.users) > 1:
        return False
    if node.target not in CLAMPS and source.target in SUMS:
        return False
    return _can_clamp(source) or (source.target in POOLS and node.target in CLAMPS)


def _can_clamp(node: Node) -> bool:
    """Whether the node is, or will be, of an operator that clamps its output."""
    is_sum = node.target in SUMS and len(node.all_input_nodes) == 2
    return len(node.users) == 1 and (is_sum or node.target in CLAMPING)


def _has_rule(node: Node) -> bool:
    """Whether the backend has a rule for a function by itself."""
    if node.target in CLAMPS:
        return not _follows_bias(node)
    is_gelu = node.target is _ATEN.gelu.default
    return (is_gelu and not node.kwargs) or node.target in TABLES


def _follows_bias(node: Node) -> bool:
    """Whether a linear layer with a bias comes before a node.

    The backend takes what follows for int32, and then does not quantise the bounds of a clamp.
    """
    pending, seen = [node], {node}
    while pending:
        for source in pending.pop().all_input_nodes:
            if source.target is _ATEN.linear.default and any(source.args[2:]):
                return True
            if source not in seen:
                seen.add(source)
                pending.append(source)
    return False


def _bounded(source: Node, steps: list[Node]) -> Node:
    """The source, clamped for free to where hardswish is not constant: its range becomes finer."""
    is_hardswish = steps[0].target is _ATEN.hardswish.default and list(source.users) == steps[:1]
    if not is_hardswish or not _can_clamp(source):
        return source
    clamp = insert(steps[0], _ATEN.clamp.default, source, -3.0)
    source.append(clamp)
    return clamp


def _text(source: Node, steps: list[Node]) -> str:
    values = {source: Value()} | {step: Value(number) for number, step in enumerate(steps)}

    def written(argument: Node) -> Any:
        return values[argument] if argument in values else number_of(argument)

    calls = []
    for step in steps:
        # A slope that is a tensor has a dimension, which a number lacks.
        target = _ATEN.leaky_relu.default if step.target is _ATEN.prelu.default else step.target
        name = str(target).removeprefix("aten.").removesuffix(".default")
        # Not map_arg, which takes only what a graph can hold.
        arguments = tuple(written(a) if isinstance(a, Node) else a for a in step.args)
        keywords = {k: written(a) if isinstance(a, Node) else a for k, a in step.kwargs.items()}
        calls.append(Step(name, arguments, keywords))
    return text_of(calls)


def expression_of(node: Node) -> tuple[Node, str] | None:
    """The one tensor that an element-wise operator reads, and it as an expression; else None."""
    if not _is_step(node):
        return None
    sources = {each for each in node.all_input_nodes if number_of(each) is None}
    if len(sources) != 1:
        return None
    (source,) = sources
    if not _is_real(source) or fake(source).shape != fake(node).shape:
        return None
    return source, _text(source, [node])
