"""The precision that patterns choose for a node of a graph. Does not import torch."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from cmcompiler.frontend.precision import BYTES, Patterns

if TYPE_CHECKING:
    from torch.fx import Node


def precision_of(node: Node, patterns: Patterns) -> str:
    """The precision of the last pattern that matches a module which the node is part of."""
    stack = node.meta.get("nn_module_stack") or {}
    paths = ["", *(path for path, _ in stack.values())]
    chosen = BYTES
    for pattern, value in patterns:
        if any(fnmatchcase(path, pattern) for path in paths):
            chosen = value
    return chosen
