"""Makes the compiler's own operator of features that a buffer keeps, filtered over time (SVDF).

The window, which is the buffer's next value, and the filter may be spelled in any way: both are
recognised by what they compute.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from cmcompiler.frontend.operators.svdf import ops as cmbuild
from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import constant, fake, insert, is_constant

aten = torch.ops.aten

LINEAR = frozenset(
    {
        *(aten.mul.Tensor, aten.div.Tensor, aten.add.Tensor, aten.sub.Tensor, aten.sum.dim_IntList),
        *(aten.mean.dim, aten.sum.default, aten.view.default, aten.reshape.default),
        *(aten.squeeze.dim, aten.squeeze.dims, aten.squeeze.default, aten.unsqueeze.default),
        *(aten.permute.default, aten.transpose.int, aten.flatten.using_ints, aten.select.int),
        *(aten.conv1d.default, aten.conv2d.default, aten.conv1d.padding, aten.einsum.default),
        *(aten.matmul.default, aten.bmm.default, aten.contiguous.default, aten.clone.default),
        *(aten.flip.default, aten.unflatten.int, aten.alias.default),
    }
)
"""Operators that a filter is made of, with constants as their other operands."""


@dataclass(frozen=True, slots=True)
class _Window:
    """The features of the last runs.

    Attributes:
        node: computes it.
        state: the same before this run, [1, features, time] or [1, time, features].
        features: the linear layer that computes the newest.
        time: the dimension of time.
    """

    node: Node
    state: Node
    features: Node
    time: int


def join_filters(module: GraphModule) -> None:
    """Replaces features, window and filter of each SVDF layer by one operator."""
    (output,) = (node for node in module.graph.nodes if node.op == "output")
    for node in output.all_input_nodes:
        window = _window(node)
        if window is not None:
            _join(window, output)


def _window(node: Node) -> _Window | None:
    """The node as the window that a state becomes, if it is one."""
    value = node.meta.get("val")
    if not isinstance(value, Tensor) or value.ndim != 3 or value.shape[0] != 1:
        return None
    sources = set(_sources(node))
    states = [source for source in sources if source.op == "placeholder"]
    layers = sources.difference(states)
    if len(states) != 1 or len(layers) != 1 or fake(states[0]).shape != value.shape:
        return None
    (layer,) = layers
    if node is layer or not _is_layer(layer):
        return None
    generator = torch.Generator().manual_seed(0)
    state, features = (
        torch.randn(fake(source).shape, generator=generator) for source in (states[0], layer)
    )
    shifted = _evaluate(node, {states[0]: state, layer: features})
    for time in (1, 2):
        if features.numel() != value.shape[3 - time]:
            continue
        kept = state.narrow(time, 1, state.shape[time] - 1)
        newest = features.reshape(1, -1).unsqueeze(time)
        if shifted is not None and torch.equal(shifted, torch.cat([kept, newest], time)):
            return _Window(node, states[0], layer, time)
    return None


def _is_layer(node: Node) -> bool:
    """Whether a node is a linear layer of one row."""
    return (
        node.target is aten.linear.default
        and all(is_constant(parameter) for parameter in node.args[1:] if parameter is not None)
        and fake(node).numel() == fake(node).shape[-1]
        and not node.kwargs
    )


def _sources(node: Node) -> Iterator[Node]:
    """The inputs and linear layers that a node is computed from."""
    seen, ahead = {node}, [node]
    while ahead:
        each = ahead.pop()
        if each.op == "placeholder" or each.target is aten.linear.default:
            yield each
            continue
        new = [source for source in each.all_input_nodes if source not in seen]
        seen.update(new)
        ahead += new


def _evaluate(node: Node, values: dict[Node, Tensor]) -> Tensor | None:
    """The value of a node for values of others; None if it needs more."""
    if node in values:
        return values[node]
    if is_constant(node):
        return value_of(node)
    if node.op != "call_function":
        return None
    known: dict[Node, Tensor] = {}
    for source in node.all_input_nodes:
        value = _evaluate(source, values)
        if value is None:
            return None
        known[source] = values[source] = value
    args, kwargs = map_arg((node.args, node.kwargs), known.__getitem__)
    assert callable(node.target)
    result = node.target(*args, **kwargs)
    return result if isinstance(result, Tensor) else None


def _join(window: _Window, output: Node) -> None:
    for end in reversed(list(_chain(window.node, output))):
        filtered = _filter(window, end)
        if filtered is not None:
            _replace(window, end, *filtered)
            return


def _chain(window: Node, output: Node) -> Iterator[Node]:
    """The operators that a filter may consist of, one after the other."""
    node = window
    while True:
        users = [user for user in node.users if node is not window or user is not output]
        if len(users) != 1 or users[0].target not in LINEAR or node in _others(users[0], node):
            return
        if any(value_of(other) is None for other in _others(users[0], node)):
            return
        node = users[0]
        yield node


def _others(user: Node, operand: Node) -> list[Node]:
    """The operands of a node but one; that too if the node takes it twice."""
    taken: list[Node] = []
    map_arg((user.args, user.kwargs), taken.append)
    taken.remove(operand)
    return taken


def _filter(window: _Window, end: Node) -> tuple[Tensor, Tensor] | None:
    """Weights [features, time] and bias of a node's elements; None if they are no such filter."""

    def compute(values: Tensor) -> Tensor:
        response = _evaluate(end, {window.node: values})
        assert response is not None
        return response.flatten()

    values = torch.zeros(fake(window.node).shape)
    bias = compute(values)
    weights = _slopes(compute, values)[:, 0]
    weights = weights.transpose(1, 2) if window.time == 1 else weights
    outputs, features, time = weights.shape
    if features % outputs:
        return None
    blocks = weights.reshape(outputs, outputs, features // outputs, time)
    own = blocks.diagonal().permute(2, 0, 1)
    is_own = torch.eye(outputs, dtype=torch.bool)[:, :, None, None]
    if blocks.masked_fill(is_own, 0).any():
        return None
    return own.reshape(features, time), bias


def _slopes(compute: Any, values: Tensor) -> Tensor:
    """Derivative of each result with respect to each value."""
    jacobian: Any = torch.func.jacrev(compute)
    slopes: Tensor = jacobian(values)
    return slopes.detach()


def _replace(window: _Window, end: Node, weights: Tensor, bias: Tensor) -> None:
    x, feature_weight, *feature_bias = window.features.args
    assert isinstance(x, Node)
    following = list(end.users)
    rectifies = len(following) == 1 and following[0].target is aten.relu.default
    last = following[0] if rectifies else end
    row = insert(last, aten.view.default, x, [1, fake(x).shape[-1]])
    both = insert(
        last,
        cmbuild.svdf.default,
        *(row, window.state, feature_weight, (*feature_bias, None)[0]),
        constant(last, f"{end.name}_weights", weights),
        constant(last, f"{end.name}_bias", bias),
        *(rectifies, window.time == 1),
    )
    sums = insert(last, operator.getitem, both, 0)
    final = insert(last, operator.getitem, both, 1)
    shaped = insert(last, aten.view.default, sums, list(fake(last).shape))
    last.replace_all_uses_with(shaped)
    window.node.replace_all_uses_with(final, lambda user: user.op == "output")
