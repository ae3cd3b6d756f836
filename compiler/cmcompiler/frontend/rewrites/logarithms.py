"""Spells logarithms of sums and of probabilities, so that no rounding comes before them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from cmcompiler.frontend.rewrites.constants import number_of, value_of
from cmcompiler.frontend.rewrites.editing import insert, replace
from cmcompiler.frontend.rewrites.sampled import sampled
from cmcompiler.frontend.rewrites.two_valued import is_elementwise

_ATEN = torch.ops.aten

_LOGARITHMS = {_ATEN.log.default, _ATEN.log2.default, _ATEN.log10.default}


def soft_maximum(self: Any, other: Any) -> Any:
    """log(exp(x) + exp(y)) = max(x, y) + log(1 + exp(-|x - y|))"""
    pair = self.node, other.node
    difference = self - other
    values = [value for each in pair if (value := value_of(each)) is not None]
    known = [values] if len(values) == len(pair) else sampled(*pair)
    if any(bool((x - y).isnan().any()) for x, y in known):
        # Both are infinite, and the result is, too.
        difference = difference.nan_to_num()
    rest = difference.abs().neg().softplus()
    return self.maximum(other) + rest


def take_logarithms_of_scores(module: GraphModule) -> None:
    """Computes logarithms of a softmax, as `log(softmax(x).clamp(min=1e-7))`, from log_softmax.

    Probabilities below half a step of 1/256 would all have one logarithm.
    """
    for node in list(module.graph.nodes):
        chain = _chain(node) if node.target in _LOGARITHMS else None
        if chain is None:
            continue
        softmax, *functions = chain
        logarithms = insert(node, _ATEN.log_softmax.int, *softmax.args)
        made = {softmax: insert(node, _ATEN.exp.default, logarithms)}
        for each in functions:
            made[each] = _copied(node, each, made)
        replace(node, made[node])


def _copied(at: Node, node: Node, made: Mapping[Node, Node]) -> Node:
    assert isinstance(node.target, OpOverload)
    arguments = map_arg(node.args, lambda each: made.get(each, each))
    return insert(at, node.target, *arguments, **node.kwargs)


def _chain(node: Node) -> list[Node] | None:
    """A softmax, and functions of one number that lead from it to a logarithm of it."""
    chain = [node]
    while is_elementwise(chain[0]):
        sources = [each for each in chain[0].all_input_nodes if number_of(each) is None]
        if len(sources) != 1:
            return None
        chain.insert(0, sources[0])
    is_plain = chain[0].target is _ATEN.softmax.int and not chain[0].kwargs
    return chain if is_plain and len(chain[0].args) == 2 else None
