"""Operators on sequences [N, C, L] as operators on images [N, C, 1, L].

The quantizer and the kernels know images. Between two such operators, what works element by element
or along a dimension of the sequences computes on images as well, so no view separates them.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from cmcompiler.frontend.rewrites.editing import (
    fake,
    insert,
    insert_named,
    named_arguments,
    replace,
)
from cmcompiler.frontend.rewrites.functions import UNTAGGED

aten = torch.ops.aten

_ON_IMAGES = {
    aten.conv1d.default: aten.conv2d.default,
    aten.conv1d.padding: aten.conv2d.padding,
    aten.conv_transpose1d.default: aten.conv_transpose2d.input,
    aten.max_pool1d.default: aten.max_pool2d.default,
    aten.max_pool1d_with_indices.default: aten.max_pool2d_with_indices.default,
    aten.avg_pool1d.default: aten.avg_pool2d.default,
    aten.adaptive_avg_pool1d.default: aten.adaptive_avg_pool2d.default,
    aten.adaptive_max_pool1d.default: aten.adaptive_max_pool2d.default,
    aten.upsample_nearest1d.vec: aten.upsample_nearest2d.vec,
    aten._upsample_nearest_exact1d.vec: aten._upsample_nearest_exact2d.vec,
    aten.upsample_linear1d.vec: aten.upsample_bilinear2d.vec,
}

_ALONG_HEIGHT: Mapping[str, int | float] = {
    "kernel_size": 1,
    "stride": 1,
    "padding": 0,
    "output_padding": 0,
    "dilation": 1,
    "output_size": 1,
    "scale_factors": 1.0,
}
"""Arguments of those operators, for the dimension of size 1."""

_BY_DIMENSION: Mapping[Any, str] = {
    aten.cat.default: "dim",
    aten.chunk.default: "dim",
    aten.flip.default: "dims",
    aten.glu.default: "dim",
    aten.log_softmax.int: "dim",
    aten.roll.default: "dims",
    aten.slice.Tensor: "dim",
    aten.softmax.int: "dim",
    aten.split.Tensor: "dim",
    aten.split_with_sizes.default: "dim",
}
"""Operators that keep the number of dimensions, and the argument that names some of them."""

_PADS = {aten.pad.default, aten.constant_pad_nd.default}

_HEIGHT = 2
_IN_IMAGE = (0, 1, 3)
"""Where the dimensions of a sequence are in its image."""


def compute_on_images(module: GraphModule) -> None:
    images: dict[Node, Node] = {}  # by the sequence that each becomes
    for node in module.graph.nodes:
        known = [source for source in node.all_input_nodes if source in images]
        if node.target in _ON_IMAGES and _rank(node.args[0]) == 3:
            given = named_arguments(node)
            sizes = {name: _both(name, value) for name, value in given.items()}
            _compute(node, _ON_IMAGES[node.target], sizes, images)
        elif node.target is aten.squeeze.dim and _rank(node.args[0]) == 4 and _rank(node) == 3:
            if node.args[1] % 4 == _HEIGHT:
                images[node] = node.args[0]
        elif known and node.target is aten.unsqueeze.default and node.args[1] % 4 == _HEIGHT:
            replace(node, images[known[0]])
        elif known and _keeps_dimensions(node):
            _compute(node, node.target, _in_image(node), images)
    module.graph.eliminate_dead_code()


def _rank(value: Any) -> int:
    tensor = fake(value) if isinstance(value, Node) else None
    return tensor.dim() if isinstance(tensor, Tensor) else 0


def _both(name: str, value: Any) -> Any:
    """An argument for height and width."""
    if name in _ALONG_HEIGHT and isinstance(value, (list, tuple)) and value:
        return [_ALONG_HEIGHT[name], *value]
    return value


def _keeps_dimensions(node: Node) -> bool:
    """Whether a node that reads sequences computes sequences, and could compute images."""
    if not all(rank <= 3 for rank in map(_rank, node.all_input_nodes)):
        return False
    name = _BY_DIMENSION.get(node.target)
    if name is not None:
        return named_arguments(node)[name] not in (None, [])
    by_element = torch.Tag.pointwise in getattr(node.target, "tags", ())
    return by_element or node.target in UNTAGGED | _PADS | {aten.batch_norm.default}


def _in_image(node: Node) -> dict[str, Any]:
    """The arguments of a node of the same operator on images; tensors are still sequences."""
    given = named_arguments(node)
    if node.target in _PADS:
        sides = list(given["pad"])
        is_constant = given.get("mode", "constant") == "constant"
        if len(sides) > 2 or not is_constant:
            sides[2:2] = [0, 0]
        given["pad"] = sides
    elif node.target in _BY_DIMENSION:
        name = _BY_DIMENSION[node.target]
        dims = given[name]
        given[name] = _IN_IMAGE[dims] if isinstance(dims, int) else [_IN_IMAGE[d] for d in dims]
    return given


def _compute(
    node: Node, form: OpOverload, given: Mapping[str, Any], images: dict[Node, Node]
) -> None:
    """Replaces a node by an operator on images, with these named_arguments, and a view."""

    def image(source: Node) -> Node:
        if source in images:
            return images[source]
        # Tensors of one dimension are as long as the sequences.
        return insert(node, aten.unsqueeze.default, source, -2) if _rank(source) > 1 else source

    made = insert_named(node, form, map_arg(dict(given), image))
    _leave(node, made, images)


def _leave(node: Node, image: Node, images: dict[Node, Node]) -> None:
    """Uses what was computed on images in place of a node's sequences."""
    if isinstance(fake(image), Tensor):
        sequence = insert(node, aten.squeeze.dim, image, _HEIGHT)
        images[sequence] = image
        replace(node, sequence)
        return
    for user in list(node.users):
        assert user.target is operator.getitem
        with node.graph.inserting_before(user):
            item = node.graph.call_function(operator.getitem, (image, user.args[1]))
        item.meta.update(user.meta)
        item.meta["val"] = fake(image)[user.args[1]]
        _leave(user, item, images)
    node.graph.erase_node(node)
