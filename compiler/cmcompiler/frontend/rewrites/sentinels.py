"""Keeps sentinels, numbers far beyond all others, out of what is quantised."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import number_of, uniform, value_of
from cmcompiler.frontend.rewrites.editing import constant, fake, insert, replace
from cmcompiler.frontend.rewrites.exclusions import (
    LINEAR,
    NEGLIGIBLE,
    PADS,
    Exclusions,
    limited,
    padding_of,
)
from cmcompiler.frontend.rewrites.fixed_ranges import MOVEMENTS
from cmcompiler.frontend.rewrites.masks import (
    CHOICES,
    FARTHEST,
    FILLS,
    LARGEST,
    LEAST,
    SENTINEL,
    Sentinel,
)
from cmcompiler.frontend.rewrites.sampled import sampled
from cmcompiler.frontend.rewrites.two_valued import VALUES, is_sentinel

_ATEN = torch.ops.aten

LEAST_WEIGHT = 2.0**-9
"""Half a step of a softmax's results."""

_EXPAND = _ATEN.expand.default
_SDPA = _ATEN.scaled_dot_product_attention.default
_JOINS = {_ATEN.cat.default, _ATEN.stack.default}
_EXTREMES = {_ATEN.maximum.default: -1, _ATEN.minimum.default: 1}
"""With the sign of sentinels that never become the result."""


def note_values(module: GraphModule, samples: Sequence[tuple[Tensor, ...]]) -> None:
    """Marks the inputs that have 0 and one other value, or 1 alone, in all samples: masks."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    for node, column in zip(inputs, zip(*samples, strict=False), strict=False):
        values = _two_values(column)
        if values is not None:
            node.meta[VALUES] = values


def _two_values(column: Sequence[Tensor]) -> tuple[float, ...] | None:
    values: set[float] = set()
    for tensor in column:
        if tensor.dtype == torch.bool:
            return None
        values.update(torch.unique(tensor)[:3].tolist())
        if len(values) > 2:
            return None
    if values == {1}:  # a mask that leaves nothing out
        values = {0, 1}
    is_mask = len(values) == 2 and 0 in values and not any(map(math.isnan, values))
    return tuple(sorted(values)) if is_mask else None


def separate_sentinels(module: GraphModule) -> None:
    """Has softmaxes, extremes, functions and attention leave out what a mask excludes.

    Whatever else computes with sentinels stays in float.
    """
    exclusions = Exclusions()
    for node in list(module.graph.nodes):
        sign = _EXTREMES.get(node.target)
        if sign is not None and _is_unbounded(node, sign):
            continue
        exclusions.learn(node)
        if node.target is _ATEN.softmax.int:
            _mask_softmax(node, exclusions)
        elif node.target is _ATEN.log_softmax.int:
            _mask_logarithms(node, exclusions)
        elif node.target is _SDPA:
            _mask_attention(node, exclusions)
        elif node.target in LARGEST:
            _limit(node, exclusions, -1)
        elif node.target in LEAST:
            _limit(node, exclusions, 1)
        elif sign is not None:
            _choose_larger(node, exclusions, sign)
        else:
            _commute(node, exclusions)
    for node in reversed(list(module.graph.nodes)):
        _spell(node, exclusions)
    module.graph.eliminate_dead_code()
    for node in list(module.graph.nodes):
        if node.target is _ATEN.baddbmm.default and not node.kwargs:
            added, *factors = node.args
            product = insert(node, _ATEN.bmm.default, *factors)
            replace(node, insert(node, _ATEN.add.Tensor, product, added))


def limit_margins(module: GraphModule) -> None:
    """Gives margins that are left out by an extreme the number that is beyond all others.

    Runs before extremes are spelled in parts.
    """
    for node in list(module.graph.nodes):
        for operators, sign in ((LARGEST, -1), (LEAST, 1)):
            source = node.args[0] if node.target in operators else None
            if isinstance(source, Node) and _is_real(source):
                made = _with_infinities(node, source, sign)
                if made is not None:
                    node.update_arg(0, made)


def limit_states(module: GraphModule, states: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Initial values with infinities in place of sentinels of which only extremes are taken."""
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    pairs = zip(inputs[len(inputs) - len(states) :], states, strict=True)
    return tuple(_limited_state(node, state) for node, state in pairs)


def _limited_state(node: Node, state: Tensor) -> Tensor:
    if not state.is_floating_point() or not node.users:
        return state
    if any(user.target not in {*_EXTREMES, *LARGEST, *LEAST} for user in node.users):
        return state
    value = limited(state)
    return state if value is None else value


def _mask_softmax(node: Node, exclusions: Exclusions) -> None:
    source = node.args[0]
    known = exclusions.of(source)
    if known is None or not isinstance(source, Node):
        return
    if known.number > -NEGLIGIBLE or _is_spelled(source, exclusions):
        return
    if known.number > -FARTHEST and _counts(sampled(source, known.kept), node.args[1]):
        return
    number = min(known.number, -FARTHEST)
    made = known.spelled(node, fake(source).shape, number)
    made.meta[SENTINEL] = Sentinel(known.number, known.is_added)
    node.update_arg(0, made)


def _mask_logarithms(node: Node, exclusions: Exclusions) -> None:
    """Makes a softmax of exponentials of logarithms, which alone can be left out."""
    known = exclusions.of(node.args[0])
    if known is None or not all(user.target is _ATEN.exp.default for user in node.users):
        return
    softmax = insert(node, _ATEN.softmax.int, *node.args, **node.kwargs)
    for user in list(node.users):
        replace(user, softmax)
    _mask_softmax(softmax, exclusions)


def _mask_attention(node: Node, exclusions: Exclusions) -> None:
    if len(node.args) < 4:
        return
    mask = node.args[3]
    known = exclusions.of(mask)
    if known is None or not isinstance(mask, Node) or known.number > -NEGLIGIBLE:
        return
    if known.number > -FARTHEST and _counts(_scores(node, known.kept), -1):
        return
    node.meta[SENTINEL] = Sentinel(known.number, is_added=True)
    if known.value == 0:
        node.update_arg(3, known.kept)
    else:
        node.update_arg(3, known.spelled(node, fake(mask).shape, -math.inf))


def _counts(samples: Iterable[Sequence[Tensor]], dim: Any) -> bool:
    """Whether a softmax gives excluded elements some weight beside others, on some sample.

    Args:
        samples: elements of the softmax, and a mask of those that are not excluded.
    """
    for scores, mask in samples:
        kept = mask.expand(scores.shape)
        beside = kept.any(dim, keepdim=True) & ~kept
        if (scores.softmax(dim)[beside] >= LEAST_WEIGHT).any():
            return True
    return False


def _scores(node: Node, kept: Node) -> Iterator[tuple[Tensor, Tensor]]:
    """Masked scores of an attention and what the mask keeps, for each calibration input."""
    query, key, _, mask = node.args[:4]
    assert isinstance(query, Node) and isinstance(key, Node) and isinstance(mask, Node)
    if fake(query).shape[:-2] != fake(key).shape[:-2]:
        return
    scale = node.kwargs.get("scale") or fake(query).shape[-1] ** -0.5
    assert isinstance(scale, float)
    for one, other, added, those in sampled(query, key, mask, kept):
        yield one @ other.transpose(-2, -1) * scale + added, those


def _limit(node: Node, exclusions: Exclusions, sign: int) -> None:
    """Lets sentinels saturate at the end of the range of the other elements."""
    source = node.args[0]
    if not isinstance(source, Node) or not _is_real(source):
        return
    known = exclusions.of(source)
    if known is None or not known.is_far or known.number * sign <= 0 or known.is_margin:
        return
    if not _is_spelled(source, exclusions):
        node.update_arg(0, known.spelled(node, fake(source).shape))


def _with_infinities(at: Node, node: Node, sign: int) -> Node | None:
    """A copy of a tensor with infinities in place of sentinels, in which observers take no part."""
    if node.target in PADS:
        source, sides, value = node.args[0], node.args[1], padding_of(node)
        is_limit = value is not None and is_sentinel(value) and value * sign > 0
        if not isinstance(source, Node) or not is_limit or value == sign * math.inf:
            return None
        inner = _with_infinities(at, source, sign) or source
        return insert(at, _ATEN.constant_pad_nd.default, inner, sides, sign * math.inf)
    if node.target in {*MOVEMENTS, _ATEN.unfold.default} and isinstance(node.args[0], Node):
        made = _with_infinities(at, node.args[0], sign)
        return None if made is None else insert(at, node.target, made, *node.args[1:])
    if node.target in _JOINS:
        parts: Any = node.args[0]
        made_parts = [_part(at, part, sign) for part in parts]
        if not any(made_parts):
            return None
        chosen = [made or part for made, part in zip(made_parts, parts, strict=True)]
        return insert(at, node.target, chosen, *node.args[1:])
    return None


def _part(at: Node, part: Node, sign: int) -> Node | None:
    value = value_of(part)
    if value is None:
        return _with_infinities(at, part, sign)
    made = limited(value) if value.is_floating_point() else None
    return None if made is None else constant(at, f"{at.name}_limited", made)


def _is_unbounded(node: Node, sign: int) -> bool:
    """Removes an extreme of a tensor and a sentinel, which is the tensor."""
    for source, bound in (node.args, node.args[::-1]):
        number = uniform(bound)
        if number is None or not is_sentinel(number) or number * sign < 0:
            continue
        if isinstance(source, Node) and _is_real(source):
            is_whole = fake(source).shape == fake(node).shape
            sizes = list(fake(node).shape)
            replace(node, source if is_whole else insert(node, _EXPAND, source, sizes))
            return True
    return False


def _choose_larger(node: Node, exclusions: Exclusions, sign: int) -> None:
    """The larger of two numbers, of which a mask excludes one: the other there."""
    for masked, other in (node.args, node.args[::-1]):
        known = exclusions.of(masked)
        if known is None or not known.is_far or known.is_margin or known.number * sign < 0:
            continue
        if isinstance(known.value, Node) and exclusions.of(other) is None:
            made = insert(node, _operator(node), known.value, other)
            replace(node, insert(node, _ATEN.where.self, known.kept, made, other))
            return


def _operator(node: Node) -> OpOverload:
    assert isinstance(node.target, OpOverload)
    return node.target


def _commute(node: Node, exclusions: Exclusions) -> None:
    """A function that makes an ordinary number of a sentinel: chosen after it is computed."""
    known = exclusions.of(node)
    is_function = node.target not in {*FILLS, *CHOICES, *MOVEMENTS} and len(node.args) > 0
    if known is None or not is_function or not isinstance(known.value, Node):
        return
    source = exclusions.of(node.args[0])
    limit = NEGLIGIBLE if node.target in LINEAR else FARTHEST
    if source is None or not source.is_far or abs(known.number) >= limit:
        return
    made = known.spelled(node, fake(node).shape)
    exclusions.forget(node)
    replace(node, made)


def _spell(node: Node, exclusions: Exclusions) -> None:
    """Gives other operators the sentinel itself, chosen at the end of the computation."""
    known = exclusions.of(node)
    if known is None or known.is_margin or not isinstance(known.value, Node):
        return
    if abs(known.number) < 10 * FARTHEST:
        return
    if node.target not in {*FILLS, *CHOICES, *PADS} and _is_used(node):
        replace(node, known.spelled(node, fake(node).shape))


def _is_used(node: Node) -> bool:
    """Whether an output depends on a node."""
    reached = [node]
    for each in reached:
        reached += [user for user in each.users if user not in reached]
    return any(each.op == "output" for each in reached)


def _is_spelled(node: Node, exclusions: Exclusions) -> bool:
    """Whether a node is a choice with a sentinel whose other elements are ordinary."""
    if node.target not in FILLS | CHOICES:
        return False
    known = exclusions.of(node)
    is_literal = any(number_of(each) is not None for each in node.args)
    return known is not None and known.value in node.args and known.is_far and is_literal


def _is_real(node: Node) -> bool:
    return bool(fake(node).dtype == torch.float32)
