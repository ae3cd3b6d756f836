"""The precision that patterns choose for a node of a graph. Does not import torch."""

from __future__ import annotations

from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.precision import (
    BYTES,
    EVERYTHING,
    SHORT_ACTIVATIONS,
    Pattern,
    Patterns,
)
from cmcompiler.suggest import did_you_mean

if TYPE_CHECKING:
    from torch.fx import Graph, Node

SHORT_MOVE = "cmbuild_short_move"
"""Where a node's `meta` says that it moves int16 elements, though nothing beside it has any."""

_WRAPPED = "module."
"""What paths of a model with state begin with: it is the module of a `WithStates`."""


def module_paths(graph: Graph) -> set[str]:
    """Paths of the modules that nodes are part of; the empty one is the model's."""
    stacks = (node.meta.get("nn_module_stack") or {} for node in graph.nodes)
    return {"", *(path for stack in stacks for path, _ in stack.values())}


def check_patterns(patterns: Patterns, paths: Collection[str]) -> None:
    """
    Args:
        paths: of all modules.

    Raises:
        InvalidRequest: a pattern that matches none of them.
    """
    for pattern, value in patterns:
        if not any(fnmatchcase(path, pattern) for path in paths):
            hint = did_you_mean(pattern.removesuffix(".*"), paths)
            hint = hint if hint.startswith("did") else "`cmbuild run --layers` shows their names"
            raise InvalidRequest(f"precision {value}: no module matches {pattern!r}", hint)


def precision_of(node: Node, patterns: Patterns) -> str:
    """The precision of the last pattern that matches a module which the node is part of."""
    return _last_match(node, patterns)[1]


def mark_short_moves(
    moves: Collection[Node], patterns: Patterns, is_real: Callable[[Node], bool]
) -> bool:
    """Marks connected movements that have int16 activations, but nothing beside them to tell so.

    Only inputs, constants, conditions and outputs are beside them. False if others are.

    Args:
        is_real: whether a node's result has a range.
    """
    beside = {other for node in moves for other in (*node.all_input_nodes, *node.users)}
    others = [node for node in beside.difference(moves) if node.op == "call_function"]
    is_bare = not any(map(is_real, others))
    is_short = all(precision_of(node, patterns) in SHORT_ACTIVATIONS for node in moves)
    if patterns and is_bare and is_short:
        for node in moves:
            node.meta[SHORT_MOVE] = True
        return True
    return False


def is_named(node: Node, patterns: Patterns) -> bool:
    """Whether that pattern is not the one of the whole model."""
    return _last_match(node, patterns)[0] != EVERYTHING


def _last_match(node: Node, patterns: Patterns) -> Pattern:
    stack = node.meta.get("nn_module_stack") or {}
    paths = ["", *(path for path, _ in stack.values())]
    paths += [path.removeprefix(_WRAPPED) for path in paths if path.startswith(_WRAPPED)]
    chosen = EVERYTHING, BYTES
    for pattern, value in patterns:
        if any(fnmatchcase(path, pattern) for path in paths):
            chosen = pattern, value
    return chosen
