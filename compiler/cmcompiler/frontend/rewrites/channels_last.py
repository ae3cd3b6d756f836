"""Images laid out channels last where an operator needs it, whatever the module did before."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from cmcompiler.frontend.rewrites.editing import fake, insert

aten = torch.ops.aten

_ON_IMAGES = {
    aten.conv2d.default,
    aten.conv2d.padding,
    aten.conv_transpose2d.input,
    aten.max_pool2d.default,
    aten.max_pool2d_with_indices.default,
    aten.avg_pool2d.default,
    aten.adaptive_avg_pool2d.default,
    aten.adaptive_max_pool2d.default,
    aten.upsample_nearest2d.vec,
    aten.upsample_bilinear2d.vec,
}

_PADS = {aten.pad.default, aten.constant_pad_nd.default}
"""The backend orders their margins as the image lies before its operators replace torch's, which
lay sums out otherwise."""


def arrange_channels_last(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is aten.view.default:
            # With strides that the module did not expect, a view may be impossible.
            node.target = aten.reshape.default
        # Strides may have changed.
        value = _computed(node)
        # Images of one channel lie both ways, and their results as the strides happen to say.
        if node.target in _ON_IMAGES and (
            _lie_otherwise(fake(node.args[0])) or _lie_otherwise(value)
        ):
            _arrange(node, torch.channels_last)
            value = _computed(node)
        elif node.target in _PADS and value.dim() == 4:
            is_last = not _lie_otherwise(fake(node.args[0]))
            _arrange(node, torch.channels_last if is_last else torch.contiguous_format)
        node.meta["val"] = value


def _arrange(node: Node, form: torch.memory_format) -> None:
    """Its operand as a copy of that form."""
    image = insert(node, aten.clone.default, node.args[0], memory_format=form)
    node.args = (image, *node.args[1:])


def _computed(node: Node) -> Any:
    assert callable(node.target)
    return node.target(*map_arg(node.args, fake), **map_arg(node.kwargs, fake))


def _lie_otherwise(images: Any) -> bool:
    if isinstance(images, (tuple, list)):
        images = images[0]
    assert isinstance(images, Tensor)
    if images.dim() != 4 or images.shape[1] == 1 or images.shape[2:] == (1, 1):
        return False
    return tuple(images.dim_order()) != (0, 2, 3, 1)
