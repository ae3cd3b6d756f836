"""Computes ahead what depends on parameters alone, such as normalised weights."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import (
    compute,
    decisive_inputs,
    is_function,
    value_of,
)
from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    insert,
    is_constant,
    replace,
)

_ATEN = torch.ops.aten
REPETITIONS = {_ATEN.expand.default, _ATEN.repeat.default}

SMALL = 1 << 16
"""Bytes of floats that are rather stored than computed in each run."""


def fold_constants(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if is_function(node) and all(map(_is_known, decisive_inputs(node))):
            _fold(node)


def _is_known(node: Node) -> bool:
    """Whether a node is a constant, or repeats one that would be larger if it were stored so."""
    return is_constant(node) or (
        node.target in REPETITIONS and all(map(is_constant, node.all_input_nodes))
    )


def _fold(node: Node) -> None:
    value = compute(node, value_of)
    # A much larger copy than what it is made from would cost memory.
    most = sum(map(_stored_bytes, decisive_inputs(node)))
    if node.target not in REPETITIONS:
        most = max(most, SMALL)
    if isinstance(value, Tensor) and value.nbytes <= most:
        replace(node, constant(node, node.name, value.contiguous()))
    elif isinstance(value, Tensor) and node.target not in REPETITIONS and _is_uniform(value):
        one = constant(node, node.name, value.flatten()[:1].reshape([1] * value.ndim))
        replace(node, insert(node, _ATEN.expand.default, one, list(value.shape)))
    elif isinstance(value, (tuple, list)) and sum(part.nbytes for part in value) <= most:
        for user in list(node.users):
            part = value[user.args[1]]  # type: ignore[index]
            replace(user, constant(user, user.name, part.contiguous()))


def _stored_bytes(node: Node) -> int:
    if is_constant(node):
        return constant_value(node).nbytes
    return sum(map(_stored_bytes, node.all_input_nodes))


def _is_uniform(value: Tensor) -> bool:
    """Whether all elements are equal, as in the state that a network begins with."""
    return bool((value == value.flatten()[0]).all())
