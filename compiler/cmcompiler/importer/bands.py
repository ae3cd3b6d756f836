"""Depthwise convolutions of bands of rows, where the rows are.

A program gives each band of each channel its own channel, for a depthwise 1x1 convolution: an image
with its channels last is transposed twice before that, and twice after it. Or it takes the image
apart, convolves each band, and puts their outputs together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cmcompiler.ir.graph import Node
from cmcompiler.ir.movement.copy import Copy
from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import Part, View
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
    window = convolution.window
    is_affine = window.area == 1 and window.stride == (1, 1) and window.padding == (0, 0)
    if orders != (_TO_CHANNELS_FIRST, _TO_CHANNELS_LAST, _TO_CHANNELS_FIRST) or not is_affine:
        return None
    batch, height, width, channels = chain[5].inputs[0].shape
    bands = convolution.output_shape[3] // channels
    joined = (batch, channels * bands, height // max(1, bands), width)
    is_whole = chain[4].outputs[0].shape == joined and bands > 1 and height % bands == 0
    same = chain[0].outputs[0].shape == (batch, channels, height, width)
    made = chain[2].inputs[0].shape[3] == convolution.output_shape[3]
    return chain if is_whole and same and made else None


def join_bands(nodes: Sequence[Node], outputs: Collection[Tensor]) -> list[Node]:
    """The nodes with a convolution of bands in place of those of parts of an image.

    Nodes no longer needed stay among them.

    Args:
        outputs: what is read by others than these nodes.
    """
    producer = {tensor: node for node in nodes for tensor in node.outputs}
    readers = Counter(tensor for node in nodes for tensor in node.reads)
    readers.update(outputs)
    return [_joined(node, producer, readers) or node for node in nodes]


def _joined(
    node: Node, producer: Mapping[Tensor, Node], readers: Mapping[Tensor, int]
) -> Node | None:
    """A convolution of bands that does what a concatenation and what it reads do."""
    made = [producer[tensor] for tensor in node.inputs if tensor in producer]
    if not isinstance(node.op, Copy) or len(made) < 2 or not _puts_rows_together(node):
        return None
    parts = [producer.get(each.inputs[0]) for each in made if each.inputs]
    if len(parts) < len(node.inputs) or any(readers[tensor] > 1 for tensor in node.inputs):
        return None
    shape = node.outputs[0].shape
    image: Tensor | None = None
    bands: list[DepthwiseConv2d] = []
    for each, part in zip(made, parts, strict=True):
        op = None if part is None else _of_image(each, part, len(bands), shape)
        if op is None or part is None or image not in (None, part.inputs[0]):
            return None
        image = part.inputs[0]
        bands.append(op)
    assert image is not None
    return replace(made[0], op=BandedConv2d(tuple(bands)), inputs=(image,), outputs=node.outputs)


def _puts_rows_together(node: Node) -> bool:
    """Whether an image of int8 has in equal bands of its rows all of each input, in order."""
    op = node.op
    assert isinstance(op, Copy)
    count, shape = len(node.inputs), op.shape
    is_image = len(shape) == 4 and op.dtype == np.int8 and shape[0] == 1 and op.fill is None
    if not is_image or node.guards or shape[1] % count or len(op.pieces) != count:
        return False
    rows = shape[1] // count
    band = (1, rows, *shape[2:])
    return all(
        piece.source == number
        and tensor.shape == band
        and piece.reads.offset == 0
        and piece.writes.offset == number * rows * shape[2] * shape[3]
        and Loops.over(piece.reads, piece.writes) == Loops.over(*[Strided.dense(band)] * 2)
        for number, (piece, tensor) in enumerate(zip(op.pieces, node.inputs, strict=True))
    )


def _of_image(
    node: Node, part: Node, number: int, shape: tuple[int, ...]
) -> DepthwiseConv2d | None:
    """The convolution of an image's rows as one of the whole image.

    Args:
        part: makes the rows.
        number: of the band among the equal ones of the output.
        shape: of the whole output.
    """
    op, first = node.op, _first_row(part)
    image, seen = part.inputs[0].shape if part.inputs else (), part.outputs[0].shape
    if first is None or node.guards or not isinstance(op, DepthwiseConv2d) or op.is_int16:
        return None
    if shape[3] != seen[3]:
        return None
    (stride, _), (reach, _) = op.window.stride, op.window.reach
    rows = op.output_shape[1]
    top = op.window.padding[0] + number * rows * stride - first
    last = (rows - 1) * stride - op.window.padding[0] + reach - 1
    hides_above = op.window.padding[0] > 0 and first > 0
    hides_below = last >= seen[1] and first + seen[1] < image[1]
    if top < 0 or hides_above or hides_below:
        return None
    window = replace(op.window, padding=(top, op.window.padding[1]))
    return replace(op, window=window, output_shape=shape)


def _first_row(part: Node) -> int | None:
    """The first of an image's rows that a node takes; None if it does something else."""
    op = part.op
    if part.guards or len(part.inputs) != 1 or not isinstance(op, Copy | Part):
        return None
    image, shape = part.inputs[0].shape, part.outputs[0].shape
    if len(image) != 4 or len(shape) != 4 or image[0] != 1 or image[2:] != shape[2:]:
        return None
    row = image[2] * image[3]
    if isinstance(op, Part):
        offset = op.offset
    else:
        dense = Strided.dense(shape)
        (piece, *others) = op.pieces or (None,)
        if piece is None or others or op.fill is not None or op.dtype != np.int8:
            return None
        if piece.writes.numel != dense.numel:
            return None
        if Loops.over(piece.reads, piece.writes) != Loops.over(dense, dense):
            return None
        offset = piece.reads.offset
    return None if offset % row else offset // row
