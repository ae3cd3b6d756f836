"""Whole steps for tensors of whole numbers. Importing it imports torch.

In other steps a 3 is held as 2.99, of which a cast to integers leaves 2.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from operator import getitem
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import MinMaxObserver

from cmcompiler.frontend.observations import Observation
from cmcompiler.frontend.operators.function import function
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.rewrites.editing import constant_value, is_constant
from cmcompiler.frontend.rewrites.fixed_ranges import CASTS, CUTS, MOVEMENTS

_ATEN = torch.ops.aten

_WHOLE = {*CUTS, _ATEN.sign.default}
_KEEPING = {
    *(*MOVEMENTS, _ATEN.cat.default, _ATEN.stack.default, _ATEN.add.Tensor, _ATEN.sub.Tensor),
    *(_ATEN.relu.default, _ATEN.maximum.default, _ATEN.minimum.default, _ATEN.amax.default),
    *(_ATEN.amin.default, _ATEN.flip.default, _ATEN.where.self, _ATEN.t.default, getitem),
}
"""Operators that give whole numbers for whole numbers."""

_PROBES = 1009
"""Numbers that show what a function of one number gives. A prime: no step divides their range."""


def hold_whole_numbers(
    prepared: GraphModule, observations: Sequence[Observation]
) -> tuple[Observation, ...]:
    """Gives ranges that only whole numbers share a step that is 1 or halved from it.

    Those that span more than 255 keep theirs.

    Returns: the observations of other ranges, which may be chosen.
    """
    by_range: defaultdict[MinMaxObserver, list[Node]] = defaultdict(list)
    for node in prepared.graph.nodes:
        observer: Any = observer_of(node) if node.op == "call_module" else None
        if type(observer) is MinMaxObserver and observer.dtype is torch.int8:
            by_range[observer].append(node)
    whole = dict[MinMaxObserver, tuple[Tensor, Tensor]]()
    seen = {each.range: (each.least, each.largest) for each in observations}
    for observer, held in by_range.items():
        least, largest = seen.get(observer, (observer.min_val, observer.max_val))
        limits = _limits(observer, float(least), float(largest))
        if limits is not None and _are_whole(held):
            whole[observer] = limits
    for observer, limits in whole.items():
        observer.min_val, observer.max_val = limits
    return tuple(each for each in observations if each.range not in whole)


def _limits(observer: MinMaxObserver, least: float, largest: float) -> tuple[Tensor, Tensor] | None:
    """The range of the smallest step that fits; None if that exceeds 1, or nothing was seen."""
    least, largest = min(least, 0.0), max(largest, 0.0)
    span, steps = largest - least, observer.quant_max - observer.quant_min
    is_affine = observer.qscheme == torch.per_tensor_affine
    if not is_affine or not 0 < span <= steps:
        return None
    step = 2.0 ** math.ceil(math.log2(span / steps))
    return torch.tensor(least), torch.tensor(least + steps * step)


def _are_whole(held: Sequence[Node]) -> bool:
    sources = [node.args[0] for node in held]
    is_constant_alone = all(isinstance(each, Node) and is_constant(each) for each in sources)
    return not is_constant_alone and all(map(_is_whole, sources))


def _is_whole(node: object) -> bool:
    """Whether a node's results are whole numbers, whatever its inputs are."""
    if not isinstance(node, Node):
        return isinstance(node, int) or (isinstance(node, float) and node.is_integer())
    value = node.meta.get("val")
    if isinstance(value, Tensor) and not value.is_floating_point():
        return True
    if is_constant(node):
        constant = constant_value(node)
        return bool((constant == constant.round()).all())
    if node.op == "call_module" or node.target in CASTS:
        return _is_whole(node.args[0])
    if node.target is torch.ops.cmbuild.function.default:
        return _gives_whole(node)
    is_kept = node.target in _KEEPING and node.kwargs.get("alpha", 1) == 1
    return bool(node.target in _WHOLE or (is_kept and all(map(_is_whole, node.all_input_nodes))))


def _gives_whole(node: Node) -> bool:
    """Whether a function gives whole numbers all over the range of its operand."""
    held, text = node.args[:2]
    if not isinstance(held, Node) or held.op != "call_module":
        return False
    observer = observer_of(held)
    scale, zero_point = (float(each) for each in observer.calculate_qparams())
    least, largest = (
        (end - zero_point) * scale for end in (observer.quant_min, observer.quant_max)
    )
    numbers = torch.linspace(least, largest, _PROBES)
    if _is_whole(held):
        numbers = numbers.round()
    results = function(numbers, str(text))
    return bool((results == results.round()).all())
