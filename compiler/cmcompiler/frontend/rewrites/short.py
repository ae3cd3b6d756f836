"""Gives operators int16 activations: their `cmbuild::short_` form takes their place.

It runs after all other rewrites, on what the quantizer would compute in int8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.chosen_precision import precision_of
from cmcompiler.frontend.operators.upsample import resized
from cmcompiler.frontend.precision import FINE, SHORT, SHORT_ACTIVATIONS, Patterns
from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    fake,
    insert,
    is_constant,
    named_arguments,
    replace,
)
from cmcompiler.frontend.rewrites.fine_weights import fine_where_softmax_is_sharp, with_fine_weights
from cmcompiler.frontend.rewrites.functions import expression_of
from cmcompiler.frontend.rewrites.short_lengths import join_lengths
from cmcompiler.frontend.rewrites.short_steps import projected, steps
from cmcompiler.ops.deviation import LONGEST_SHORT
from cmcompiler.ops.log_softmax import LONGEST
from cmcompiler.ops.quantized_cumsum import MOST_SHORT_ADDENDS

_ATEN, _OWN = torch.ops.aten, torch.ops.cmbuild


def make_short(module: GraphModule, precision: Patterns) -> None:
    """Replaces the operators of modules whose path the last matching pattern gives int16."""
    if not precision:
        return
    # A node that nothing uses any more would count as a user.
    module.graph.eliminate_dead_code()
    join_lengths(module, lambda node: _is_chosen(node, precision))
    for node in list(module.graph.nodes):
        if has_short_form(node) and _is_chosen(node, precision):
            shorten(node, precision_of(node, precision))
    fine_where_softmax_is_sharp(module, lambda node: precision_of(node, precision) == SHORT)
    for node in list(module.graph.nodes):
        _join_clamp(node)
    for node in list(module.graph.nodes):
        if _is_chosen(node, precision) and (made := _function(node)) is not None:
            replace(node, made)
    module.graph.eliminate_dead_code()
    module.recompile()


def has_short_form(node: Node) -> bool:
    return node.target in _forms() and _is_float(_first(node))


def shorten(node: Node, precision: str = SHORT) -> None:
    """Puts the short form of an operator in its place, if there is one."""
    made = _forms()[node.target](node) if has_short_form(node) else _function(node)
    if made is not None:
        if precision == FINE:
            made = with_fine_weights(node, made)
        replace(node, made)


def _is_chosen(node: Node, precision: Patterns) -> bool:
    """A clamp that the operator before it can take over is of that one's type."""
    source = node.args[0] if node.args else None
    if node.target in _clamps() and isinstance(source, Node) and len(source.users) == 1:
        if source.target in _bounded():
            return True
        if _forms().get(source.target) in (_convolution, _transposed, _linear, _sum):
            return False
    return precision_of(node, precision) in SHORT_ACTIVATIONS


def _is_float(value: Any) -> bool:
    """
    Args:
        value: a node, or what one computes.
    """
    value = value.meta.get("val") if isinstance(value, Node) else value
    return isinstance(value, Tensor) and value.dtype == torch.float32


def _first(node: Node) -> Any:
    """The result of a node, or the first of several."""
    value = node.meta.get("val")
    return value[0] if isinstance(value, tuple | list) else value


def _has_constants(node: Node) -> bool:
    given = named_arguments(node)
    return is_constant(given["weight"]) and (given["bias"] is None or is_constant(given["bias"]))


def _pair(value: Any) -> list[int]:
    values = [value] if isinstance(value, int) else list(value)
    return values * 2 if len(values) == 1 else values


def _convolution(node: Node) -> Node | None:
    if not _has_constants(node):
        return None
    given = named_arguments(node)
    window = [_pair(given[name]) for name in ("stride", "padding", "dilation")]
    layer = given["input"], given["weight"], given["bias"]
    return insert(node, _OWN.short_conv2d.default, *layer, *window, given["groups"])


def _transposed(node: Node) -> Node | None:
    given = named_arguments(node)
    if not _has_constants(node) or given["groups"] != 1:
        return None
    turned = constant_value(given["weight"]).transpose(0, 1).contiguous()
    weight = constant(node, f"{node.name}_weight", turned)
    names = ("stride", "padding", "dilation", "output_padding")
    window = [_pair(given[name]) for name in names]
    return insert(
        node,
        _OWN.short_conv_transpose2d.default,
        *(given["input"], weight, given["bias"]),
        *window,
    )


def _linear(node: Node) -> Node | None:
    if not _has_constants(node):
        return None
    given = named_arguments(node)
    return insert(node, _OWN.short_linear.default, given["input"], given["weight"], given["bias"])


def _sum(node: Node) -> Node | None:
    x, y, *rest = node.args
    alpha: Any = rest[0] if rest else node.kwargs.get("alpha", 1)
    if not all(isinstance(each, Node) and _is_float(each) for each in (x, y)):
        return None
    if isinstance(alpha, Node):
        return None
    factor = -float(alpha) if node.target is _ATEN.sub.Tensor else float(alpha)
    if is_constant(x) and is_constant(y):
        assert isinstance(x, Node) and isinstance(y, Node)
        return constant(node, node.name, constant_value(x) + factor * constant_value(y))
    return insert(node, _OWN.short_add.default, x, y, factor, *rest[1:])


def _product(node: Node) -> Node | None:
    x, y = node.args[:2]
    if not all(isinstance(each, Node) and _is_float(each) for each in (x, y)):
        return None
    assert isinstance(x, Node) and isinstance(y, Node)
    if is_constant(x) and is_constant(y):
        return constant(node, node.name, constant_value(x) * constant_value(y))
    return insert(node, _OWN.short_mul.default, x, y)


def _matrices(node: Node) -> Node | None:
    x, y = node.args
    if any(map(is_constant, (x, y))):
        return None
    turned = insert(node, _ATEN.transpose.int, y, 1, 2)
    return insert(node, _OWN.short_bmm.default, x, turned)


def _reduction(operator: Any) -> Callable[[Node], Node | None]:
    def form(node: Node) -> Node | None:
        x, dims, keepdim = (*node.args, False, False)[:3]
        assert isinstance(x, Node)
        if not dims:
            dims = list(range(fake(x).ndim))
        places = [dim % fake(x).ndim for dim in dims]  # type: ignore[union-attr]
        return insert(node, operator, x, places, bool(keepdim))

    return form


def _average(node: Node) -> Node | None:
    given = named_arguments(node)
    padding = _pair(given["padding"])
    is_padded = given["count_include_pad"] and any(padding)
    if given["divisor_override"] is not None:
        return None
    sizes = _pair(given["kernel_size"]), _pair(given["stride"] or given["kernel_size"])
    image = given[_input(node)]
    if is_padded:
        high, wide = padding
        image = insert(node, _ATEN.constant_pad_nd.default, image, [wide, wide, high, high])
        padding = [0, 0]
    made = insert(node, _OWN.short_avg_pool2d.default, image, *sizes, padding, given["ceil_mode"])
    for axis in (2, 3):
        # Padding makes further outputs where their number is rounded up.
        if fake(made).shape[axis] > fake(node).shape[axis]:
            made = insert(node, _ATEN.slice.Tensor, made, axis, 0, fake(node).shape[axis])
    return made


def _whole_average(node: Node) -> Node | None:
    """The mean of an image; pools of several windows that differ have no form."""
    x, size = node.args[:2]
    if not isinstance(size, list | tuple) or any(each != 1 for each in size):
        return None
    return insert(node, _OWN.short_mean.default, x, [2, 3], True)


def _maximum(node: Node) -> Node | None:
    given = named_arguments(node)
    sizes = _pair(given["kernel_size"]), _pair(given["stride"] or given["kernel_size"])
    rest = _pair(given["padding"]), _pair(given["dilation"]), given["ceil_mode"]
    return insert(node, _OWN.short_max_pool2d.default, given[_input(node)], *sizes, *rest)


def _input(node: Node) -> str:
    """The name of an operator's first argument, `self` or `input`."""
    return str(node.target._schema.arguments[0].name)  # type: ignore[union-attr]


def _softmax(node: Node) -> Node | None:
    x, dim = node.args[:2]
    return insert(node, _OWN.short_softmax.default, x, dim)


def _masked_softmax(node: Node) -> Node | None:
    if node.args[1] is None:
        return insert(node, _OWN.short_softmax.default, node.args[0], node.args[2])
    return insert(node, _OWN.short_masked_softmax.default, *node.args)


def _recurrent(operator: Any) -> Callable[[Node], Node | None]:
    def form(node: Node) -> Node | None:
        if named_arguments(node).get("projection") is not None:
            return projected(node, operator)
        return insert(node, operator, *node.args)

    return form


def _of_rows(operator: Any, longest: int) -> Callable[[Node], Node | None]:
    """An operator of the same arguments, over up to so many elements of its dimensions."""

    def form(node: Node) -> Node | None:
        x, dims = node.args[:2]
        shape = fake(x).shape  # type: ignore[arg-type]
        places = [dims] if isinstance(dims, int) else list(dims)  # type: ignore[arg-type]
        length = math.prod(shape[dim] for dim in places)
        return insert(node, operator, *node.args) if length <= longest else None

    return form


def _resized(node: Node) -> Node:
    x, *rest = node.args
    assert isinstance(x, Node)
    made = _OWN.short_upsample_bilinear2d.default
    return insert(node, made, x, *resized(fake(x), *rest))


def _quotient(node: Node) -> Node | None:
    x, y = node.args[:2]
    if not all(isinstance(each, Node) and _is_float(each) for each in (x, y)):
        return None
    return insert(node, _OWN.short_div.default, x, y)


def _clamp(node: Node) -> Node | None:
    bounds = _bounds(node)
    return insert(node, _OWN.short_clamp.default, node.args[0], 1.0, *bounds)


def _leaky(node: Node) -> Node | None:
    slope = float((*node.args, 0.01)[1])  # type: ignore[arg-type]
    return insert(node, _OWN.short_clamp.default, node.args[0], slope)


def _prelu(node: Node) -> Node | None:
    """One slope is that of a clamp; of several, x + (slopes - 1) * min(x, 0)."""
    x, given = node.args
    if not is_constant(given):
        return None
    assert isinstance(x, Node) and isinstance(given, Node)
    slopes = constant_value(given).float()
    if slopes.numel() == 1:
        return insert(node, _OWN.short_clamp.default, x, float(slopes))
    shape = [-1 if axis == 1 else 1 for axis in range(fake(x).ndim)]
    factors = constant(node, f"{node.name}_factors", (slopes - 1).reshape(shape).contiguous())
    below = insert(node, _OWN.short_clamp.default, x, 1.0, None, 0.0)
    added = insert(node, _OWN.short_mul.default, below, factors)
    return insert(node, _OWN.short_add.default, x, added, 1.0)


def _bounds(node: Node) -> tuple[float | None, float | None]:
    if node.target is _ATEN.relu.default:
        return 0.0, None
    if node.target is _ATEN.relu6.default:
        return 0.0, 6.0
    defaults = (-1.0, 1.0) if node.target is _ATEN.hardtanh.default else (None, None)
    given = (*node.args[1:], *defaults[len(node.args) - 1 :])[:2]
    least, largest = (None if each is None else float(each) for each in given)
    return least, largest


def _function(node: Node) -> Node | None:
    """The function of one tensor, as an expression."""
    if node.target is _OWN.function.default:
        return insert(node, _OWN.short_function.default, *node.args)
    if not _is_float(node):
        return None
    found = expression_of(node)
    if found is None:
        return None
    source, expression = found
    return insert(node, _OWN.short_function.default, source, expression)


@cache
def _bounded() -> dict[Any, int]:
    """Operators that clamp their results, and where the bounds are."""
    return {
        _OWN.short_conv2d.default: 7,
        _OWN.short_conv_transpose2d.default: 7,
        _OWN.short_linear.default: 3,
        _OWN.short_add.default: 3,
    }


@cache
def _clamps() -> frozenset[Any]:
    return frozenset(operator for operator, form in _forms().items() if form is _clamp)


def _join_clamp(node: Node) -> None:
    """Makes a clamp the bounds of the operator before it."""
    if node.target is not _OWN.short_clamp.default or node.args[1] != 1.0:
        return
    source = node.args[0]
    assert isinstance(source, Node)
    place = _bounded().get(source.target)
    if place is None or len(source.users) > 1 or len(source.args) > place:
        return
    source.args = (*source.args, *node.args[2:])
    node.replace_all_uses_with(source)
    node.graph.erase_node(node)


@cache
def _forms() -> dict[Any, Callable[[Node], Node | None]]:
    """The makers of the short form of each operator."""
    return {
        _ATEN.conv2d.default: _convolution,
        _ATEN.conv_transpose2d.input: _transposed,
        _ATEN.linear.default: _linear,
        _ATEN.add.Tensor: _sum,
        _ATEN.sub.Tensor: _sum,
        _OWN.add.default: _sum,
        _ATEN.mul.Tensor: _product,
        _OWN.mul.default: _product,
        _ATEN.bmm.default: _matrices,
        _ATEN.mean.dim: _reduction(_OWN.short_mean.default),
        _OWN.mean.default: _reduction(_OWN.short_mean.default),
        _OWN.sum.default: _reduction(_OWN.short_sum.default),
        _ATEN.avg_pool2d.default: _average,
        _ATEN.adaptive_avg_pool2d.default: _whole_average,
        _ATEN.max_pool2d.default: _maximum,
        _ATEN.softmax.int: _softmax,
        _OWN.masked_softmax.default: _masked_softmax,
        _ATEN.relu.default: _clamp,
        _ATEN.relu6.default: _clamp,
        _ATEN.hardtanh.default: _clamp,
        _ATEN.clamp.default: _clamp,
        _ATEN.leaky_relu.default: _leaky,
        _OWN.prelu.default: _prelu,
        _OWN.lstm.default: _recurrent(_OWN.short_lstm.default),
        _OWN.lstm_state.default: _recurrent(_OWN.short_lstm_state.default),
        _OWN.gru.default: _recurrent(_OWN.short_gru.default),
        _OWN.gru_state.default: _recurrent(_OWN.short_gru_state.default),
        _OWN.rnn.default: _recurrent(_OWN.short_rnn.default),
        _OWN.svdf.default: lambda node: insert(node, _OWN.short_svdf.default, *node.args),
        _ATEN.div.Tensor: _quotient,
        _OWN.div.default: _quotient,
        _ATEN.upsample_bilinear2d.vec: _resized,
        _OWN.cumsum.default: _of_rows(_OWN.short_cumsum.default, MOST_SHORT_ADDENDS),
        _OWN.deviation.default: _of_rows(_OWN.short_deviation.default, LONGEST_SHORT),
        _OWN.log_softmax.default: _of_rows(_OWN.short_log_softmax.default, LONGEST),
        _OWN.logsumexp.default: _of_rows(_OWN.short_logsumexp.default, LONGEST),
        **steps(),
    }
