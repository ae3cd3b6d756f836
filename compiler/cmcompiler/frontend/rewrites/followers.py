"""Operators that follow a layer and may be fused with it: a view in between must come after it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from torch.fx import Node

from cmcompiler.frontend.rewrites.editing import insert

aten = torch.ops.aten

ACTIVATIONS = {
    *(aten.relu.default, aten.relu6.default, aten.hardtanh.default, aten.clamp.default),
    *(aten.hardswish.default, aten.sigmoid.default, aten.tanh.default, aten.leaky_relu.default),
}


def repeat_followers(layer: Node, made: Node, kinds: Collection[Any]) -> tuple[Node, Node]:
    """Repeats on `made` the operators that alone follow a layer; the last of them and its copy."""
    while len(layer.users) == 1:
        (user,) = layer.users
        if user.target not in kinds or user.args[0] is not layer:
            break
        made = insert(user, user.target, made, *user.args[1:], **user.kwargs)  # type: ignore[arg-type]
        layer = user
    return layer, made
