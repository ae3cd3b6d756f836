"""Sums of an image and its depthwise columns, and means of these, as convolutions of the image.

A block may add to an image what a depthwise convolution makes of it, and the same averaged over all
rows. Both are depthwise convolutions of the image too: one has 1 more at the tap that lies on the
output's own place, the other one's columns are as long as the image. What they are sums of is then
neither computed nor added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.channels import (
    CONVOLUTIONS,
    bias_of,
    is_layer,
    set_parameters,
)
from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    fake,
    insert,
    insert_named,
    named_arguments,
    replace,
)

aten = torch.ops.aten

_ROWS = 2
_PAIRS = ("padding", "dilation")
_MOST_ROWS = 64
"""Taps of a column that means are computed by: further rows would make sums too long to be worth a
layer of their own.
"""


@dataclass(frozen=True, slots=True)
class _Band:
    """A depthwise convolution of some rows of an image.

    Attributes:
        image: all its rows.
        first, rows: of the image that it reads.
        above: zeros above them.
    """

    layer: Node
    image: Node
    first: int
    rows: int
    above: int

    @property
    def weight(self) -> Tensor:
        return constant_value(named_arguments(self.layer)["weight"]).double()

    @property
    def dilation(self) -> int:
        return int(named_arguments(self.layer)["dilation"][0])

    @property
    def outputs(self) -> int:
        return int(fake(self.layer).shape[_ROWS])

    def taps(self, row: int) -> Iterator[tuple[int, int]]:
        """The taps of an output row that lie on the image, and its rows there."""
        for tap in range(self.weight.shape[2]):
            place = row + tap * self.dilation - self.above
            if 0 <= place < self.rows:
                yield tap, self.first + place

    def own_tap(self, start: int) -> tuple[int, int] | None:
        """The tap on the place of each output, if one is, where the outputs begin at a row."""
        given = named_arguments(self.layer)
        column, beside = divmod(given["padding"][1], given["dilation"][1])
        taps = {
            tuple(tap for tap, seen in self.taps(row) if seen == start + row)
            for row in range(self.outputs)
        }
        if beside or column >= self.weight.shape[3] or len(taps) > 1:
            return None
        (own,) = taps
        return (own[0], column) if own else None


def join_columns_with_images(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        bands = _bands(node)
        if not bands or fake(node).shape != fake(bands[0].image).shape:
            continue
        means = [user for user in node.users if _is_mean(user)]
        added = [user for user in node.users if user not in means]
        total = _sum(added[0], bands[0].image) if len(added) == 1 else None
        starts = _starts(bands)
        places = [band.own_tap(start) for band, start in zip(bands, starts, strict=True)]
        is_column = bands[0].weight.shape[3] == 1
        if total is None or None in places or (means and not is_column):
            continue
        for mean in means:
            replace(mean, _mean(mean, bands))
        for band, place in zip(bands, places, strict=True):
            assert place is not None
            weight = band.weight
            weight[:, 0, place[0], place[1]] += 1
            set_parameters(band.layer, weight, bias_of(band.layer) + torch.zeros(len(weight)))
        image = bands[0].image
        replace(total, next(each for each in total.all_input_nodes if each is not image))
    module.graph.eliminate_dead_code()


def _bands(node: Node) -> list[_Band]:
    """The depthwise convolutions of one image that make a node's rows, in order; else none."""
    layers = [node]
    if node.target is aten.cat.default:
        layers = list(node.args[0])  # type: ignore[arg-type]
        if node.args[1:] not in ((_ROWS,), (_ROWS - 4,)) or any(len(x.users) > 1 for x in layers):
            return []
    bands = [_band(layer) for layer in layers]
    read = [band for band in bands if band is not None]
    is_same = len(read) == len(bands) and len({band.image for band in read}) == 1
    return read if is_same and fake(read[0].image).dim() == 4 else []


def _band(layer: Node) -> _Band | None:
    if layer.target not in CONVOLUTIONS or not is_layer(layer) or fake(layer).dim() != 4:
        return None
    given = named_arguments(layer)
    channels = fake(layer).shape[1]
    is_depthwise = given["groups"] == channels == fake(given["input"]).shape[1]
    if not is_depthwise or list(given["stride"]) not in ([1], [1, 1]):
        return None
    if any(not isinstance(given[name], list) or len(given[name]) != 2 for name in _PAIRS):
        return None
    image, above = given["input"], given["padding"][0]
    if image.target is aten.constant_pad_nd.default and image.args[2:] in ((), (0,), (0.0,)):
        left, right, top, _ = (*image.args[1], 0, 0, 0, 0)[:4]
        if (left, right) != (0, 0) or len(image.args[1]) != 4:
            return None
        above += top
        image = image.args[0]
    rows, first = fake(image).shape[_ROWS], 0
    if image.target is aten.slice.Tensor and image.args[1] == _ROWS and len(image.args) == 4:
        first, image = image.args[2], image.args[0]
    return _Band(layer, image, first, rows, above)


def _starts(bands: Sequence[_Band]) -> Iterator[int]:
    start = 0
    for band in bands:
        yield start
        start += band.outputs


def _is_mean(node: Node) -> bool:
    if node.target is not aten.mean.dim or node.kwargs:
        return False
    given, rows = named_arguments(node), fake(node.all_input_nodes[0]).shape[_ROWS]
    return bool(given["dim"] == [_ROWS] and rows <= _MOST_ROWS)


def _sum(user: Node, image: Node) -> Node | None:
    """The first of some sums, each of the one before, that adds an image."""
    while user.target is aten.add.Tensor and not user.kwargs:
        if fake(user).shape != fake(image).shape or len(user.all_input_nodes) < 2:
            return None
        if image in user.all_input_nodes:
            return user
        if len(user.users) != 1:
            return None
        user = next(iter(user.users))
    return None


def _mean(mean: Node, bands: Sequence[_Band]) -> Node:
    """The mean over all rows of what bands make, from the image."""
    image = bands[0].image
    channels, rows = fake(image).shape[1:3]
    weight, bias = torch.zeros(channels, rows).double(), torch.zeros(channels).double()
    count = sum(band.outputs for band in bands)
    for band in bands:
        for row in range(band.outputs):
            for tap, seen in band.taps(row):
                weight[:, seen] += band.weight[:, 0, tap, 0] / count
        bias += bias_of(band.layer) * (band.outputs / count)
    given = {
        "input": image,
        "weight": constant(mean, f"{mean.name}_weight", weight.float()[:, None, :, None]),
        "bias": constant(mean, f"{mean.name}_bias", bias.float()),
        "groups": channels,
    }
    made = insert_named(mean, aten.conv2d.default, given)
    keeps = named_arguments(mean)["keepdim"]
    return made if keeps else insert(mean, aten.squeeze.dim, made, _ROWS)
