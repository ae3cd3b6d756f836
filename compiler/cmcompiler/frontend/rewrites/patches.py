"""Products of unfolded patches with constant weights as the convolutions that they are."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import constant, fake, insert, named_arguments, replace

_ATEN = torch.ops.aten

_RESHAPES = {
    *(_ATEN.view.default, _ATEN.reshape.default, _ATEN.flatten.using_ints, _ATEN.clone.default),
    *(_ATEN.unflatten.int, _ATEN.contiguous.default, _ATEN._unsafe_view.default),
    *(_ATEN.unsqueeze.default, _ATEN.squeeze.dim),
}
_TRANSPOSES = {_ATEN.transpose.int, _ATEN.permute.default, _ATEN.mT.default}
_POINTWISE = {_ATEN.conv1d.default, _ATEN.conv2d.default}
_PRODUCTS = {_ATEN.linear.default, _ATEN.matmul.default}


def convolve_patches(module: GraphModule) -> None:
    """Joins each im2col with the 1×1 convolutions, linear layers and products that read it."""
    for node in list(module.graph.nodes):
        if node.target is _ATEN.im2col.default and fake(node.args[0]).ndim == 4:
            _join(node, node, is_turned=False)
    module.graph.eliminate_dead_code()


def _join(patches: Node, node: Node, is_turned: bool) -> None:
    """
    Args:
        node: holds the patches, [N, C · taps, windows] in any shape of the windows.
        is_turned: they are [N, windows, C · taps] instead.
    """
    batch, depth, windows = fake(patches).shape
    for user in list(node.users):
        value = user.meta.get("val")
        shape = list(value.shape) if isinstance(value, Tensor) else []  # none of the graph's output
        if user.target in _RESHAPES:
            is_same = (
                [*shape[:1], *shape[-1:], prod(shape[1:-1])] == [batch, depth, windows]
                if is_turned
                else shape[:2] == [batch, depth]
            )
            if is_same:
                _join(patches, user, is_turned)
        elif user.target in _TRANSPOSES and fake(node).ndim == 3 and _swaps(user):
            _join(patches, user, not is_turned)
        elif made := _joined(patches, node, user, is_turned):
            replace(user, made)


def _swaps(node: Node) -> bool:
    """Whether a transposition of three dimensions exchanges the last two."""
    given = named_arguments(node)
    if node.target is _ATEN.mT.default:
        return True
    if node.target is _ATEN.permute.default:
        return [dim % 3 for dim in given["dims"]] == [0, 2, 1]
    return {given["dim0"] % 3, given["dim1"] % 3} == {1, 2}


def _joined(patches: Node, node: Node, user: Node, is_turned: bool) -> Node | None:
    """The result of a user as a convolution of the image."""
    if user.target in _POINTWISE and not is_turned:
        rows = _rows_of_convolution(node, user)
    elif user.target in _PRODUCTS and is_turned and user.args[0] is node:
        rows = _rows_of_product(user)
    elif user.target is _ATEN.matmul.default and not is_turned and user.args[1] is node:
        rows = _rows_of_left_factor(node, user)
    else:
        return None
    if rows is None or rows.shape[1] != fake(patches).shape[1]:
        return None
    return _convolved(patches, user, rows, named_arguments(user).get("bias"), is_turned)


def _rows_of_convolution(node: Node, user: Node) -> Tensor | None:
    """The weights of a convolution, if of single elements."""
    given = named_arguments(user)
    weights = value_of(given["weight"])
    sides = (*given["padding"], *(side - 1 for side in given["stride"]))
    if given["input"] is not node or weights is None or given["groups"] != 1 or any(sides):
        return None
    return weights.flatten(1) if prod(weights.shape[2:]) == 1 else None


def _rows_of_product(user: Node) -> Tensor | None:
    weights = value_of(user.args[1])
    if weights is None or weights.ndim != 2:
        return None
    return weights if user.target is _ATEN.linear.default else weights.T


def _rows_of_left_factor(node: Node, user: Node) -> Tensor | None:
    weights = value_of(user.args[0])
    if weights is None or weights.ndim not in (2, 3) or fake(node).ndim != 3:
        return None
    return weights.flatten(0, -2) if weights.ndim == 2 or len(weights) == 1 else None


def _convolved(patches: Node, user: Node, rows: Tensor, bias: Node | None, is_turned: bool) -> Node:
    given = named_arguments(patches)
    source = given["self"]
    taps = [len(rows), fake(source).shape[1], *given["kernel_size"]]
    weights = constant(user, f"{user.name}_taps", rows.reshape(taps).contiguous())
    sides = (given[name] for name in ("stride", "padding", "dilation"))
    image = insert(user, _ATEN.conv2d.default, source, weights, bias, *sides)
    shape = list(fake(user).shape)
    if is_turned:
        flat = insert(user, _ATEN.flatten.using_ints, image, 2)
        image = insert(user, _ATEN.transpose.int, flat, 1, 2)
    is_whole = list(fake(image).shape) == shape
    return image if is_whole else insert(user, _ATEN.reshape.default, image, shape)
