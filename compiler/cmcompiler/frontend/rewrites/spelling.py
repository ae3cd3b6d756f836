"""Spells operators that combine others in terms of those, for which there are rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import getitem
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.classes import each_class, truth_of
from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import (
    constant,
    fake,
    insert,
    insert_named,
    named_arguments,
    replace,
)
from cmcompiler.frontend.rewrites.logarithms import soft_maximum

aten = torch.ops.aten

_Given = dict[str, Any]

MOST_PADDED = 4
"""Dimensions that the backend pads."""

MOST_DIFFERENCES = 1 << 14
"""Numbers that distances may take for their differences, which are exact where those are small."""

LARGEST_OFFSET = 1e-5
"""Limit of numbers added for the sake of derivatives, which no int8 range shows."""


def spell_combinations(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        spell = _SPELLINGS.get(node.target)
        value = node.meta.get("val")
        is_number = not isinstance(value, Tensor) or value.dtype == torch.float32
        if spell is None or not (is_number or node.target is aten.one_hot.default):
            continue
        made = spell(node, named_arguments(node))
        if made is not None:
            replace(node, made)


def _softmax(node: Node, given: _Given) -> Node | None:
    """With the dimension last: in memory it often is."""
    source, rank = given["self"], fake(node).ndim
    dim = given["dim"] % max(rank, 1)
    assert callable(node.target)
    if given["dtype"] not in (None, fake(source).dtype):
        return None
    if dim >= rank - 1:
        return insert(node, node.target, source, dim) if given["dtype"] else None
    order = [*(each for each in range(rank) if each != dim), dim]
    back = [order.index(each) for each in range(rank)]
    rows = insert(node, aten.permute.default, source, order)
    return insert(node, aten.permute.default, insert(node, node.target, rows, -1), back)


def _extreme(node: Node, given: _Given) -> Node:
    operator = aten.amax.default if node.target is aten.max.default else aten.amin.default
    return insert(node, operator, given["self"], list(range(fake(given["self"]).ndim)))


def _larger(node: Node, given: _Given) -> Node:
    return insert(node, aten.maximum.default, given["self"], given["other"])


def _smaller(node: Node, given: _Given) -> Node:
    return insert(node, aten.minimum.default, given["self"], given["other"])


def _batch_norm(node: Node, given: _Given) -> Node | None:
    """An instance norm with fixed statistics."""
    if given["use_input_stats"] or given["running_mean"] is None:
        return None
    return insert_named(node, aten.batch_norm.default, {**given, "training": False})


def _norm_of_the_batch(node: Node, given: _Given) -> Node | None:
    """A batch norm without running statistics: each channel is normalised by its own, over all
    samples, as by a group norm of a group a channel.
    """
    if not given["training"] or given["running_mean"] is not None:
        return None
    source = given["input"]
    samples, channels, *sizes = fake(source).shape
    parameters = (channels, given["weight"], given["bias"], given["eps"])
    if samples == 1 and sizes:
        return insert(node, aten.group_norm.default, source, *parameters)
    ahead = insert(node, aten.transpose.int, source, 0, 1)
    joined = insert(node, aten.reshape.default, ahead, [1, channels, -1])
    norm = insert(node, aten.group_norm.default, joined, *parameters)
    parted = insert(node, aten.reshape.default, norm, [channels, samples, *sizes])
    return insert(node, aten.transpose.int, parted, 0, 1)


def _gate(node: Node, given: _Given) -> Node:
    source, dim = given["self"], given["dim"]
    size = fake(source).shape[dim] // 2
    value, gate = (
        insert(node, aten.slice.Tensor, source, dim, start, start + size) for start in (0, size)
    )
    return insert(node, aten.mul.Tensor, value, insert(node, aten.sigmoid.default, gate))


def _differences(node: Node, given: _Given) -> Node | None:
    source, dim = given["self"], given["dim"]
    if given["prepend"] is not None or given["append"] is not None:
        return None
    for _ in range(given["n"]):
        size = fake(source).shape[dim]
        pair = [
            insert(node, aten.slice.Tensor, source, dim, start, end)
            for start, end in ((1, size), (0, size - 1))
        ]
        source = insert(node, aten.sub.Tensor, *pair)
    return source if source is not given["self"] else None


def _cosine(node: Node, given: _Given) -> Node:
    units = []
    for source in (given["x1"], given["x2"]):
        length = insert(node, aten.linalg_vector_norm.default, source, 2, [given["dim"]], True)
        bounded = insert(node, aten.clamp_min.default, length, given["eps"])
        units.append(insert(node, aten.div.Tensor, source, bounded))
    product = insert(node, aten.mul.Tensor, *units)
    return insert(node, aten.sum.dim_IntList, product, [given["dim"]])


def _distance(node: Node, given: _Given) -> Node:
    difference = insert(node, aten.sub.Tensor, given["x1"], given["x2"])
    if given["eps"] > LARGEST_OFFSET:
        difference = insert(node, aten.add.Tensor, difference, given["eps"])
    norm = aten.linalg_vector_norm.default
    return insert(node, norm, difference, given["p"], [-1], given["keepdim"])


def _length_of_difference(node: Node, given: _Given) -> Node:
    difference = insert(node, aten.sub.Tensor, given["self"], given["other"])
    return insert(node, aten.linalg_vector_norm.default, difference, given["p"])


def _distances(node: Node, given: _Given) -> Node | None:
    """Between all rows of two matrices: |x - y|, of many √(|x|² - 2x·y + |y|²)."""
    rows, columns, order = given["x1"], given["x2"], given["p"]
    if order not in (1, 2, math.inf):
        return None
    if order != 2 or fake(node).numel() * fake(rows).shape[-1] <= MOST_DIFFERENCES:
        pair = (
            insert(node, aten.unsqueeze.default, rows, -2),
            insert(node, aten.unsqueeze.default, columns, -3),
        )
        difference = insert(node, aten.sub.Tensor, *pair)
        if order == 2:
            return insert(node, aten.linalg_vector_norm.default, difference, 2, [-1])
        size = insert(node, aten.abs.default, difference)
        reduce = aten.sum.dim_IntList if order == 1 else aten.amax.default
        return insert(node, reduce, size, [-1])
    squares = [
        insert(node, aten.sum.dim_IntList, insert(node, aten.square.default, each), [-1], True)
        for each in (rows, columns)
    ]
    across = insert(node, aten.transpose.int, columns, -2, -1)
    products = insert(node, aten.mul.Tensor, insert(node, aten.matmul.default, rows, across), -2)
    lengths = insert(node, aten.add.Tensor, products, squares[0])
    turned = insert(node, aten.transpose.int, squares[1], -2, -1)
    total = insert(node, aten.add.Tensor, lengths, turned)
    return insert(node, aten.sqrt.default, insert(node, aten.clamp_min.default, total, 0.0))


def _norm(node: Node, given: _Given) -> Node | None:
    """Lengths other than Euclidean ones."""
    order = given["ord"]
    if order not in (1, math.inf) or given["dtype"] is not None:
        return None
    size = insert(node, aten.abs.default, given["self"])
    dims, keepdim = given["dim"], given["keepdim"]
    dims = list(range(fake(size).ndim)) if dims is None else dims
    operator = aten.sum.dim_IntList if order == 1 else aten.amax.default
    return insert(node, operator, size, dims, keepdim)


def _moments(node: Node, given: _Given) -> None:
    """Variances or deviations, and means, each by its own operator."""
    source, dims, keepdim = given["self"], given.get("dim"), given.get("keepdim", False)
    dims = list(range(fake(source).ndim)) if dims is None else dims
    correction = given.get("correction", int(given.get("unbiased", True)))
    is_variance = "var" in str(node.target)
    spread = aten.var.correction if is_variance else aten.std.correction
    options = {"correction": 1 if correction is None else correction, "keepdim": keepdim}
    for user in list(node.users):
        if user.args[1] == 0:
            replace(user, insert(node, spread, source, dims, **options))
        else:
            replace(user, insert(node, aten.mean.dim, source, dims, keepdim))


def _sum_of_product(node: Node, given: _Given) -> Node:
    operator = aten.mul.Tensor if node.target is aten.addcmul.default else aten.div.Tensor
    term = insert(node, operator, given["tensor1"], given["tensor2"])
    if given["value"] != 1:
        term = insert(node, aten.mul.Tensor, term, given["value"])
    return insert(node, aten.add.Tensor, given["self"], term)


def _blend(node: Node, given: _Given) -> Node:
    difference = insert(node, aten.sub.Tensor, given["end"], given["self"])
    step = insert(node, aten.mul.Tensor, difference, given["weight"])
    return insert(node, aten.add.Tensor, given["self"], step)


def _taken(node: Node, given: _Given) -> Node | None:
    source, indices, dim = given["self"], given["indices"], given["dim"]
    if dim is None:
        return None
    shape = list(fake(node).shape)
    spread = insert(node, aten.expand.default, indices, shape)
    sizes = [*shape]
    sizes[dim] = fake(source).shape[dim]
    if list(fake(source).shape) != sizes:
        source = insert(node, aten.expand.default, source, sizes)
    return insert(node, aten.gather.default, source, dim, spread)


def _padded(node: Node, given: _Given) -> Node | None:
    """The backend pads four dimensions: those next to each other without margins become one."""
    source, sides = given["self"], given["pad"]
    shape, rank = list(fake(source).shape), fake(source).ndim
    if rank <= MOST_PADDED:
        return None
    margins = [(0, 0)] * (rank - len(sides) // 2)
    margins += list(zip(sides[-2::-2], sides[::-2], strict=True))
    sizes: list[int] = []
    merged: list[tuple[int, int]] = []
    for size, margin in zip(shape, margins, strict=True):
        if merged and merged[-1] == margin == (0, 0):
            sizes[-1] *= size
        else:
            sizes.append(size)
            merged.append(margin)
    if len(sizes) > MOST_PADDED:
        return None
    flat = insert(node, aten.reshape.default, source, sizes)
    given_sides = [side for margin in reversed(merged) for side in margin]
    padded = insert(node, aten.constant_pad_nd.default, flat, given_sides, given["value"])
    return insert(node, aten.reshape.default, padded, list(fake(node).shape))


def _padded_by_name(node: Node, given: _Given) -> Node | None:
    value = 0.0 if given["value"] is None else given["value"]
    return _padded(node, {**given, "value": value}) if given["mode"] == "constant" else None


def _expanded(node: Node, given: _Given) -> Node:
    return insert(node, aten.expand.default, given["self"], list(fake(node).shape))


def _reshaped(node: Node, given: _Given) -> Node:
    return insert(node, aten.reshape.default, given["self"], list(fake(node).shape))


def _turned(node: Node, given: _Given) -> Node | None:
    source, turns, (first, second) = given["self"], given["k"] % 4, given["dims"]
    if turns == 0:
        return None
    if turns == 2:
        return insert(node, aten.flip.default, source, [first, second])
    flipped = insert(node, aten.flip.default, source, [second if turns == 1 else first])
    return insert(node, aten.transpose.int, flipped, first, second)


def _hypotenuse(node: Node, given: _Given) -> Node:
    squares = [insert(node, aten.square.default, given[name]) for name in ("self", "other")]
    return insert(node, aten.sqrt.default, insert(node, aten.add.Tensor, *squares))


def _one_of_some(node: Node, given: _Given) -> Node:
    equals = each_class(node, given["self"], fake(node).shape[-1])
    return insert(node, aten.to.dtype, equals, fake(node).dtype)


def _as_number(node: Node, given: _Given) -> Node | None:
    """A bool as 1 or 0."""
    source = truth_of(given["self"])
    return source and insert(node, aten.where.Scalar, source, 1.0, 0.0)


def _selected(node: Node, given: _Given) -> Node | None:
    """A product with a bool."""
    for factor, mask in ((given["self"], given["other"]), (given["other"], given["self"])):
        if (truth := truth_of(mask)) is not None:
            is_tensor = isinstance(factor, Node)
            operator = aten.where.ScalarOther if is_tensor else aten.where.Scalar
            return insert(node, operator, truth, factor if is_tensor else float(factor), 0.0)
    return None


def _triangle(node: Node, given: _Given) -> Node:
    part = torch.tril if node.target is aten.tril.default else torch.triu
    kept = part(torch.ones(fake(node).shape[-2:], dtype=torch.bool), given["diagonal"])
    mask = constant(node, f"{node.name}_mask", kept)
    return insert(node, aten.where.ScalarOther, mask, given["self"], 0.0)


def _ranked(node: Node, given: _Given) -> Node | None:
    """The element at a place of the sorted ones, and its index."""
    source, dim = given["self"], given.get("dim")
    if dim is None:
        source, dim = insert(node, aten.reshape.default, source, [-1]), 0
    size = fake(source).shape[dim]
    place = given["k"] - 1 if "k" in given else (size - 1) // 2
    ordered = insert(node, aten.sort.stable, source, stable=True, dim=dim)

    def taken(part: int) -> Node:
        row = insert(node, getitem, ordered, part)
        if given.get("keepdim"):
            return insert(node, aten.slice.Tensor, row, dim, place, place + 1)
        return insert(node, aten.select.int, row, dim, place)

    if node.target is aten.median.default:
        return taken(0)
    for user in list(node.users):
        replace(user, taken(user.args[1]))  # type: ignore[arg-type]
    return None


def _bag(node: Node, given: _Given) -> None:
    """Sums, means or maxima of as many rows each."""
    indices, results = given["indices"], [user for user in node.users if user.users]
    offsets = value_of(given["offsets"])
    if offsets is None or [user.args[1] for user in results] != [0]:
        return
    count = fake(indices).numel()
    bags = len(offsets) - bool(given["include_last_offset"])
    size = count // max(bags, 1)
    is_regular = size > 0 and offsets.tolist() == list(range(0, size * len(offsets), size))
    is_plain = given["per_sample_weights"] is None and given.get("padding_idx") in (None, -1)
    if not is_regular or not is_plain or count != size * bags:
        return
    places = insert(node, aten.reshape.default, indices, [bags, size])
    rows = insert(node, aten.embedding.default, given["weight"], places)
    operator = (aten.sum.dim_IntList, aten.mean.dim, aten.amax.default)[given["mode"]]
    replace(results[0], insert(node, operator, rows, [1]))


_SPELLINGS: dict[Any, Callable[[Node, _Given], Node | None]] = {
    aten.softmax.int: _softmax,
    aten.log_softmax.int: _softmax,
    aten.max.default: _extreme,
    aten.min.default: _extreme,
    aten.max.other: _larger,
    aten.min.other: _smaller,
    aten.fmax.default: _larger,
    aten.fmin.default: _smaller,
    aten.instance_norm.default: _batch_norm,
    aten.batch_norm.default: _norm_of_the_batch,
    aten.glu.default: _gate,
    aten.diff.default: _differences,
    aten.cosine_similarity.default: _cosine,
    aten.pairwise_distance.default: _distance,
    aten.cdist.default: _distances,
    aten.dist.default: _length_of_difference,
    aten.linalg_vector_norm.default: _norm,
    aten.var_mean.dim: _moments,
    aten.var_mean.correction: _moments,
    aten.std_mean.dim: _moments,
    aten.std_mean.correction: _moments,
    aten.addcmul.default: _sum_of_product,
    aten.addcdiv.default: _sum_of_product,
    aten.lerp.Scalar: _blend,
    aten.lerp.Tensor: _blend,
    aten.embedding_bag.default: _bag,
    aten.embedding_bag.padding_idx: _bag,
    aten.take_along_dim.default: _taken,
    aten.constant_pad_nd.default: _padded,
    aten.pad.default: _padded_by_name,
    aten.expand_as.default: _expanded,
    **dict.fromkeys((aten.view_as.default, aten.reshape_as.default), _reshaped),
    aten.rot90.default: _turned,
    aten.hypot.default: _hypotenuse,
    aten.logaddexp.default: soft_maximum,
    aten.kthvalue.default: _ranked,
    aten.median.default: _ranked,
    aten.median.dim: _ranked,
    aten.one_hot.default: _one_of_some,
    aten.to.dtype: _as_number,
    aten.type_as.default: _as_number,
    aten.mul.Tensor: _selected,
    aten.tril.default: _triangle,
    aten.triu.default: _triangle,
}
