"""Batch normalisation of bands of rows, in the depthwise convolution before it.

A view gives each band of each channel a channel of its own. The convolution becomes one for each
band, of the rows that the band's windows see.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.batch_norm import affine_of
from cmcompiler.frontend.rewrites.channels import (
    CONVOLUTIONS,
    ChannelScaling,
    fold_back,
    is_layer,
)
from cmcompiler.frontend.rewrites.editing import (
    fake,
    insert,
    insert_named,
    named_arguments,
    replace,
)

aten = torch.ops.aten

_VIEWS = (aten.view.default, aten.reshape.default)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of an image that windows see, and those beyond its first and last one."""

    first: int
    last: int
    above: int
    below: int

    @classmethod
    def of(cls, layer: Node, band: int, bands: int) -> _Rows:
        """The rows that a convolution reads for one of some equal bands of its outputs' rows."""
        given, height = named_arguments(layer), fake(layer.all_input_nodes[0]).shape[2]
        stride, padding, dilation = (given[name][0] for name in ("stride", "padding", "dilation"))
        outputs = fake(layer).shape[2] // bands
        first = band * outputs * stride - padding
        reach = (fake(given["weight"]).shape[2] - 1) * dilation
        last = first + (outputs - 1) * stride + reach
        within = max(0, first), min(height - 1, last)
        return cls(*within, within[0] - first, last - within[1])


def fold_band_norms(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        layer = _layer(node) if node.target is aten.batch_norm.default else None
        affine = None if layer is None else affine_of(node)
        if layer is None or affine is None:
            continue
        joined = insert(node, aten.cat.default, _convolutions(layer, node, affine), 2)
        for view in list(node.users):
            replace(view, joined)
    module.graph.eliminate_dead_code()


def _layer(norm: Node) -> Node | None:
    """The depthwise convolution whose bands of rows a normalisation sees as channels."""
    view = norm.all_input_nodes[0]
    layer = view.args[0] if view.target in _VIEWS and len(view.users) == 1 else None
    if not isinstance(layer, Node) or layer.target not in CONVOLUTIONS:
        return None
    shape, joined = fake(layer).shape, fake(view).shape
    is_depthwise = named_arguments(layer)["groups"] == shape[1]
    if not is_depthwise or not is_layer(layer) or len(layer.users) > 1 or len(joined) != 4:
        return None
    batch, channels, height, width = shape
    bands = joined[1] // channels
    if bands < 2 or height % bands or joined != (batch, channels * bands, height // bands, width):
        return None
    seen = (_Rows.of(layer, band, bands) for band in range(bands))
    is_back = all(user.target in _VIEWS and fake(user).shape == shape for user in norm.users)
    return layer if is_back and all(rows.first <= rows.last for rows in seen) else None


def _convolutions(layer: Node, norm: Node, affine: ChannelScaling) -> list[Node]:
    given = named_arguments(layer)
    channels = fake(layer).shape[1]
    bands = affine.factors.numel() // channels
    made = []
    for band in range(bands):
        rows = _Rows.of(layer, band, bands)
        image = insert(norm, aten.slice.Tensor, given["input"], 2, rows.first, rows.last + 1)
        if rows.above or rows.below:
            sides = [0, 0, rows.above, rows.below]
            image = insert(norm, aten.constant_pad_nd.default, image, sides)
        own = {"input": image, "padding": [0, given["padding"][1]]}
        made.append(insert_named(norm, aten.conv2d.default, given | own))
        of_band = slice(band, None, bands)
        fold_back(made[-1], ChannelScaling(affine.factors[of_band], affine.offsets[of_band]))
    return made
