"""Convolutions of any number of dimensions, as TorchScript writes them, by their own operators."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import fake, insert, named_arguments, replace

_ATEN = torch.ops.aten

_ALL = {
    *(_ATEN.convolution.default, _ATEN._convolution.default),
    _ATEN._convolution.deprecated,
}
_PLAIN = (_ATEN.conv1d.default, _ATEN.conv2d.default, _ATEN.conv3d.default)
_TRANSPOSED = (
    *(_ATEN.conv_transpose1d.default, _ATEN.conv_transpose2d.input),
    _ATEN.conv_transpose3d.input,
)


def tell_convolutions_apart(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        if node.target in _ALL and 3 <= fake(node).ndim <= 5:
            replace(node, _convolution(node))


def _convolution(node: Node) -> Node:
    given, rank = named_arguments(node), fake(node).ndim - 2
    operator = (_TRANSPOSED if given["transposed"] else _PLAIN)[rank - 1]
    names = ["input", "weight", "bias", "stride", "padding"]
    names += (
        ["output_padding", "groups", "dilation"] if given["transposed"] else ["dilation", "groups"]
    )
    return insert(node, operator, *(given[name] for name in names))
