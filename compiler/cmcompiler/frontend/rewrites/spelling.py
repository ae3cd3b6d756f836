"""Spells operators that combine others in terms of those, for which there are rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.classes import each_class, truth_of
from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import (
    fake,
    insert,
    insert_named,
    named_arguments,
    replace,
)
from cmcompiler.frontend.rewrites.logarithms import soft_maximum
from cmcompiler.frontend.rewrites.traced import Rule, apply_rule

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
        value = node.meta.get("val")
        is_number = not isinstance(value, Tensor) or value.dtype == torch.float32
        if not (is_number or node.target is aten.one_hot.default):
            continue
        if (rule := _RULES.get(node.target)) is not None:
            apply_rule(node, rule)
        elif (spell := _SPELLINGS.get(node.target)) is not None:
            made = spell(node, named_arguments(node))
            if made is not None:
                replace(node, made)


def _with_last(function: Rule) -> Rule:
    """A softmax with the dimension last: in memory it often is."""

    def rule(self: Any, dim: int, dtype: Any, out: Any) -> Any:
        dim, last = dim % max(out.ndim, 1), out.ndim - 1
        if dtype not in (None, self.dtype):
            return None
        if dim >= last:
            return function(self, dim) if dtype else None
        order = [*(each for each in range(out.ndim) if each != dim), dim]
        back = [order.index(each) for each in range(out.ndim)]
        return function(self.permute(order), -1).permute(back)

    return rule


def _batch_norm(node: Node, given: _Given) -> Node | None:
    """An instance norm with fixed statistics."""
    if given["use_input_stats"] or given["running_mean"] is None:
        return None
    return insert_named(node, aten.batch_norm.default, {**given, "training": False})


def _norm_of_the_batch(
    input: Any, *, weight: Any, bias: Any, running_mean: Any, training: bool, eps: float
) -> Any:
    """A batch norm without running statistics: each channel is normalised by its own, over all
    samples, as by a group norm of a group a channel.
    """
    if not training or running_mean is not None:
        return None
    samples, channels, *sizes = input.shape
    if samples == 1 and sizes:
        return torch.group_norm(input, channels, weight, bias, eps)
    joined = input.transpose(0, 1).reshape([1, channels, -1])
    norm = torch.group_norm(joined, channels, weight, bias, eps)
    return norm.reshape([channels, samples, *sizes]).transpose(0, 1)


def _gate(self: Any, dim: int) -> Any:
    size = self.shape[dim] // 2
    value, gate = (self.narrow(dim, start, size) for start in (0, size))
    return value * gate.sigmoid()


def _differences(self: Any, n: int, dim: int, prepend: Any, append: Any) -> Any:
    if n == 0 or prepend is not None or append is not None:
        return None
    for _ in range(n):
        size = self.shape[dim] - 1
        self = self.narrow(dim, 1, size) - self.narrow(dim, 0, size)
    return self


def _cosine(x1: Any, x2: Any, dim: int, eps: float) -> Any:
    length = torch.linalg.vector_norm
    first, second = (each / length(each, 2, [dim], True).clamp_min(eps) for each in (x1, x2))
    return (first * second).sum([dim])


def _distance(x1: Any, x2: Any, p: float, eps: float, keepdim: bool) -> Any:
    difference = x1 - x2
    if eps > LARGEST_OFFSET:
        difference = difference + eps
    return torch.linalg.vector_norm(difference, p, [-1], keepdim)


def _distances(x1: Any, x2: Any, p: float, out: Any) -> Any:
    """Between all rows of two matrices: |x - y|, of many √(|x|² - 2x·y + |y|²)."""
    if p not in (1, 2, math.inf):
        return None
    if p != 2 or out.numel() * x1.shape[-1] <= MOST_DIFFERENCES:
        return _length(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, [-1])
    rows, columns = (each.square().sum([-1], True) for each in (x1, x2))
    products = (x1 @ x2.transpose(-2, -1)) * -2
    return (products + rows + columns.transpose(-2, -1)).clamp_min(0.0).sqrt()


def _distances_of_pairs(self: Any, p: float) -> Any:
    if p not in (1, 2, math.inf):
        return None
    pairs = torch.triu_indices(self.shape[0], self.shape[0], 1)
    first, second = (self.index_select(0, each.contiguous()) for each in pairs)
    return _length(first - second, p, [-1])


def _length(difference: Any, order: float, dims: list[int], keepdim: bool = False) -> Any:
    if order == 2:
        return torch.linalg.vector_norm(difference, 2, dims)
    size = difference.abs()
    return size.sum(dims, keepdim) if order == 1 else size.amax(dims, keepdim)


def _norm(self: Any, ord: float, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """Lengths other than Euclidean ones."""
    if ord not in (1, math.inf) or dtype is not None:
        return None
    return _length(self, ord, list(range(self.ndim)) if dim is None else dim, keepdim)


def _moments(spread: Callable[..., Any]) -> Rule:
    """A variance or deviation, and a mean, each by its own operator."""

    def rule(self: Any, dim: Any, correction: float | None, keepdim: bool) -> Any:
        dims = list(range(self.ndim)) if dim is None else dim
        correction = 1 if correction is None else correction
        return (
            spread(self, dims, correction=correction, keepdim=keepdim),
            self.mean(dims, keepdim),
        )

    return rule


def _unbiased(rule: Rule) -> Rule:
    """With a correction of 1 or of none."""
    return lambda self, dim, unbiased, keepdim: rule(self, dim, int(unbiased), keepdim)


_VARIANCE, _DEVIATION = _moments(aten.var.correction), _moments(aten.std.correction)


def _scaled(term: Any, value: float) -> Any:
    return term if value == 1 else term * value


def _blend(self: Any, end: Any, weight: Any) -> Any:
    return self + (end - self) * weight


def _taken(self: Any, indices: Any, dim: int | None, out: Any) -> Any:
    if dim is None:
        return None
    spread = indices.expand(list(out.shape))
    sizes = list(out.shape)
    sizes[dim] = self.shape[dim]
    return (self if list(self.shape) == sizes else self.expand(sizes)).gather(dim, spread)


def _padded(self: Any, pad: list[int], value: float, out: Any) -> Any:
    """The backend pads four dimensions: those next to each other without margins become one."""
    if self.ndim <= MOST_PADDED:
        return None
    margins = [(0, 0)] * (self.ndim - len(pad) // 2)
    margins += list(zip(pad[-2::-2], pad[::-2], strict=True))
    sizes: list[int] = []
    merged: list[tuple[int, int]] = []
    for size, margin in zip(self.shape, margins, strict=True):
        if merged and merged[-1] == margin == (0, 0):
            sizes[-1] *= size
        else:
            sizes.append(size)
            merged.append(margin)
    if len(sizes) > MOST_PADDED:
        return None
    sides = [side for margin in reversed(merged) for side in margin]
    return self.reshape(sizes).constant_pad_nd(sides, value).reshape(list(out.shape))


def _padded_by_name(self: Any, pad: list[int], mode: str, value: float | None, out: Any) -> Any:
    return _padded(self, pad, value or 0.0, out) if mode == "constant" else None


def _turned(self: Any, k: int, dims: list[int]) -> Any:
    turns, (first, second) = k % 4, dims
    if turns == 0:
        return None
    if turns == 2:
        return self.flip([first, second])
    return self.flip([second if turns == 1 else first]).transpose(first, second)


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


def _triangle(part: Callable[[Tensor, int], Tensor]) -> Rule:
    def rule(self: Any, diagonal: int, out: Any) -> Any:
        kept = part(torch.ones(out.shape[-2:], dtype=torch.bool), diagonal)
        return torch.where(kept, self, 0.0)

    return rule


def _median(self: Any, dim: int, keepdim: bool) -> Any:
    return _ranked(self, (self.shape[dim] + 1) // 2, dim, keepdim)


def _ranked(self: Any, k: int, dim: int, keepdim: bool) -> Any:
    """The element at a place of the sorted ones, and its index."""
    ordered = self.sort(stable=True, dim=dim)
    if keepdim:
        return tuple(each.narrow(dim, k - 1, 1) for each in ordered)
    return tuple(each.select(dim, k - 1) for each in ordered)


_PLACES: dict[str, Callable[[float], int]] = {
    "lower": math.floor,
    "higher": math.ceil,
    "nearest": round,
}
"""The place among sorted elements that a quantile between two is taken from."""


def _quantile(self: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str) -> Any:
    """Elements of the sorted ones, or means of two of them."""
    shares = torch.tensor(q) if isinstance(q, float) else value_of(q.node)
    if shares is None or (dim is None and keepdim):
        return None
    if dim is None:
        self, dim = self.reshape([-1]), 0
    ordered, _ = self.sort(stable=True, dim=dim)

    def taken(share: float) -> Any:
        place = share * (self.shape[dim] - 1)
        if interpolation in _PLACES:
            place = _PLACES[interpolation](place)
        below = math.floor(place)
        above = 0.5 if interpolation == "midpoint" and place != below else place - below
        result = ordered.narrow(dim, below, 1)
        if above:
            result = result * (1 - above) + ordered.narrow(dim, below + 1, 1) * above
        return result if keepdim else result.squeeze(dim)

    results = list(map(taken, shares.double().reshape(-1).tolist()))
    return torch.stack(results) if shares.ndim else results[0]


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
    is_plain = given.get("padding_idx") in (None, -1)
    if not is_regular or not is_plain or count != size * bags:
        return
    places = insert(node, aten.reshape.default, indices, [bags, size])
    rows = insert(node, aten.embedding.default, given["weight"], places)
    if (factors := given["per_sample_weights"]) is not None:
        columns = insert(node, aten.reshape.default, factors, [bags, size, 1])
        rows = insert(node, aten.mul.Tensor, rows, columns)
    operator = (aten.sum.dim_IntList, aten.mean.dim, aten.amax.default)[given["mode"]]
    replace(results[0], insert(node, operator, rows, [1]))


_RULES: dict[Any, Rule] = {
    aten.softmax.int: _with_last(aten.softmax.int),
    aten.log_softmax.int: _with_last(aten.log_softmax.int),
    aten.max.default: lambda self: self.amax(list(range(self.ndim))),
    aten.min.default: lambda self: self.amin(list(range(self.ndim))),
    **dict.fromkeys((aten.max.other, aten.fmax.default), lambda self, other: self.maximum(other)),
    **dict.fromkeys((aten.min.other, aten.fmin.default), lambda self, other: self.minimum(other)),
    aten.batch_norm.default: _norm_of_the_batch,
    aten.glu.default: _gate,
    aten.diff.default: _differences,
    aten.cosine_similarity.default: _cosine,
    aten.pairwise_distance.default: _distance,
    aten.cdist.default: _distances,
    aten.pdist.default: _distances_of_pairs,
    **dict.fromkeys((aten.quantile.scalar, aten.quantile.default), _quantile),
    aten.dist.default: lambda self, other, p: torch.linalg.vector_norm(self - other, p),
    aten.linalg_vector_norm.default: _norm,
    aten.addcmul.default: lambda self, tensor1, tensor2, value: (
        self + _scaled(tensor1 * tensor2, value)
    ),
    aten.addcdiv.default: lambda self, tensor1, tensor2, value: (
        self + _scaled(tensor1 / tensor2, value)
    ),
    aten.lerp.Scalar: _blend,
    aten.lerp.Tensor: _blend,
    aten.var_mean.correction: _VARIANCE,
    aten.var_mean.dim: _unbiased(_VARIANCE),
    aten.std_mean.correction: _DEVIATION,
    aten.std_mean.dim: _unbiased(_DEVIATION),
    aten.take_along_dim.default: _taken,
    aten.constant_pad_nd.default: _padded,
    aten.pad.default: _padded_by_name,
    aten.expand_as.default: lambda self, out: self.expand(list(out.shape)),
    aten.view_as.default: lambda self, out: self.reshape(list(out.shape)),
    aten.reshape_as.default: lambda self, out: self.reshape(list(out.shape)),
    aten.rot90.default: _turned,
    aten.hypot.default: lambda self, other: (self.square() + other.square()).sqrt(),
    aten.logaddexp.default: soft_maximum,
    aten.kthvalue.default: _ranked,
    aten.median.default: lambda self: _median(self.reshape([-1]), 0, False)[0],
    aten.median.dim: _median,
    aten.tril.default: _triangle(torch.tril),
    aten.triu.default: _triangle(torch.triu),
}
"""Operators as expressions of torch."""

_SPELLINGS: dict[Any, Callable[[Node, _Given], Node | None]] = {
    aten.instance_norm.default: _batch_norm,
    aten.embedding_bag.default: _bag,
    aten.embedding_bag.padding_idx: _bag,
    aten.one_hot.default: _one_of_some,
    aten.to.dtype: _as_number,
    aten.type_as.default: _as_number,
    aten.mul.Tensor: _selected,
}
"""Operators of which it depends on the graph what they become."""
