"""Normalisations of bands of rows, where the rows are.

A program gives each band of each channel its own channel, for a depthwise 1x1 convolution: an image
with its channels last is transposed twice before that, and twice after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cmcompiler.ir.graph import Node
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.support.banded import BandedConv2d

_TO_CHANNELS_LAST = (0, 2, 3, 1)
_TO_CHANNELS_FIRST = (0, 3, 1, 2)

_KINDS = (View, Transpose, DepthwiseConv2d, Transpose, View, Transpose)
"""From the last node to the first."""


def keep_bands_in_rows(nodes: Sequence[Node]) -> list[Node]:
    """The nodes with a convolution of bands in place of the moves to channels and back.

    Nodes no longer needed stay among them.
    """
    producer = {tensor: node for node in nodes for tensor in node.outputs}
    return [each for node in nodes for each in _kept(node, producer)]


def _kept(node: Node, producer: Mapping[Tensor, Node]) -> Iterator[Node]:
    """A node, or what makes its output of the image before the moves."""
    chain = _chain(node, producer)
    if chain is None:
        yield node
        return
    image, convolution = chain[-1].inputs[0], chain[2]
    assert isinstance(convolution.op, DepthwiseConv2d)
    result = Tensor(f"{node.outputs[0].name}.bands", image.dtype, image.shape)
    op = BandedConv2d.of(convolution.op, image.shape)
    yield replace(convolution, op=op, inputs=(image,), outputs=(result,))
    yield replace(node, op=Transpose(_TO_CHANNELS_FIRST), inputs=(result,))


def _chain(node: Node, producer: Mapping[Tensor, Node]) -> list[Node] | None:
    """The nodes from the last view back to the image with its channels last, if they are such."""
    chain = [node]
    while len(chain) < len(_KINDS) and chain[-1].inputs and chain[-1].inputs[0] in producer:
        chain.append(producer[chain[-1].inputs[0]])
    kinds = [type(each.op) for each in chain]
    if kinds != list(_KINDS) or any(each.guards for each in chain):
        return None
    after, convolution, before, first = chain[1].op, chain[2].op, chain[3].op, chain[5].op
    assert isinstance(after, Transpose) and isinstance(before, Transpose)
    assert isinstance(first, Transpose) and isinstance(convolution, DepthwiseConv2d)
    orders = (after.order, before.order, first.order)
    window, (batch, height, width, channels) = convolution.window, chain[5].inputs[0].shape
    is_affine = window.area == 1 and window.stride == (1, 1) and window.padding == (0, 0)
    if orders != (_TO_CHANNELS_FIRST, _TO_CHANNELS_LAST, _TO_CHANNELS_FIRST) or not is_affine:
        return None
    bands = convolution.output_shape[3] // channels
    joined = (batch, channels * bands, height // max(1, bands), width)
    is_whole = chain[4].outputs[0].shape == joined and bands > 1 and height % bands == 0
    same = chain[0].outputs[0].shape == (batch, channels, height, width)
    made = chain[2].inputs[0].shape[3] == convolution.output_shape[3]
    return chain if is_whole and same and made else None
