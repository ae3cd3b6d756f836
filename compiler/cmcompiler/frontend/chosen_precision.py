"""The precision that patterns choose for a node of a graph. Does not import torch."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.precision import BYTES, EVERYTHING, Pattern, Patterns
from cmcompiler.suggest import did_you_mean

if TYPE_CHECKING:
    from torch.fx import Graph, Node

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
