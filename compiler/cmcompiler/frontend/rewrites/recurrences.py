"""Computes what users write as quotients of running products without these, which lose all of it.

`h[t] = a[t] * h[t - 1] + b[t]` in parallel is `p * cumsum(b / p)` of `p = cumprod(a)`, or the same
in logarithms (Heinsen, 2023: Efficient parallelization of a ubiquitous sequential computation).
Products of gates are too small, and quotients by them too large, for 255 steps; `h` is neither.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import (
    arguments,
    fake,
    insert,
    mark_as_step,
    named_arguments,
    replace,
)
from cmcompiler.frontend.rewrites.sampled import sampled

_ATEN = torch.ops.aten

_CLOSE = 1e-4
"""Share of the largest result; terms against a division by 0 may change as much."""


@dataclass(frozen=True, slots=True)
class _Product:
    """A running product.

    Attributes:
        make_factors: what makes its factors, before a node.
    """

    dim: int
    make_factors: Callable[[Node], Node]


def compute_recurrences(module: GraphModule) -> None:
    """Replaces quotients of running products, and their logarithms, by steps of twice the length
    each.
    """
    is_any_made = False
    for node in list(module.graph.nodes):
        made = None
        if node.target is _ATEN.mul.Tensor:
            made = _of_quotients(node)
        elif node.target is _ATEN.exp.default:
            made = _of_logarithms(node)
        is_any_made |= made is not None
        if made is not None and _is_same(node, made):
            replace(node, made)
    if is_any_made:
        # The running products would be written out, too.
        module.graph.eliminate_dead_code()


def _of_quotients(node: Any) -> Node | None:
    """The recurrence that a product of a running product and a running sum computes."""
    for product, total in (node.args, node.args[::-1]):
        if not isinstance(product, Node) or not _is(total, _ATEN.cumsum.default):
            continue
        running = _running_product(product)
        given = named_arguments(total)
        terms = _terms(given["self"], product)
        if running is None or terms is None:
            continue
        if fake(product).ndim == fake(terms).ndim and _same_dim(running.dim, given["dim"], terms):
            return _recurrence(node, running.make_factors(node), terms, running.dim)
    return None


def _of_logarithms(node: Any) -> Node | None:
    """The recurrence that an exponential of a sum of logarithms computes."""
    total = node.args[0]
    if not _is(total, _ATEN.add.Tensor) or total.kwargs:
        return None
    for product, logarithm in (total.args, total.args[::-1]):
        if not isinstance(product, Node) or not _is(logarithm, _ATEN.logcumsumexp.default):
            continue
        running = _running_logarithms(product)
        inner, dim = logarithm.args
        if running is None or not _is(inner, _ATEN.sub.Tensor) or inner.kwargs:
            continue
        terms, subtracted = inner.args
        if subtracted is not product or not isinstance(terms, Node):
            continue
        if fake(product).ndim == fake(terms).ndim and _same_dim(running.dim, dim, terms):
            made = _exponential(node, terms)
            return _recurrence(node, running.make_factors(node), made, running.dim)
    return None


def _terms(quotient: Any, product: Any) -> Node | None:
    """The dividend of a running product."""
    if _is(quotient, _ATEN.div.Tensor):
        terms, divisor = quotient.args
        return terms if isinstance(terms, Node) and _unguarded(divisor) is product else None
    if not _is(quotient, _ATEN.mul.Tensor):
        return None
    for terms, inverse in (quotient.args, quotient.args[::-1]):
        if not isinstance(terms, Node) or not isinstance(inverse, Node):
            continue
        if _is(inverse, _ATEN.reciprocal.default) and _unguarded(inverse.args[0]) is product:
            return terms
        exponent: Any = inverse.args[0] if _is(inverse, _ATEN.exp.default) else None
        is_inverse = _is(exponent, _ATEN.neg.default) and _is(product, _ATEN.exp.default)
        if is_inverse and exponent.args[0] is product.args[0]:
            return terms
    return None


def _unguarded(divisor: Any) -> Any:
    """A divisor without what keeps it from 0."""
    is_guarded = _is(divisor, _ATEN.add.Tensor) or _is(divisor, _ATEN.clamp.default)
    others = divisor.args[1:] if is_guarded else ()
    is_guarded = is_guarded and not any(isinstance(other, Node) for other in others)
    return divisor.args[0] if is_guarded else divisor


def _running_product(node: Any) -> _Product | None:
    if node.target is _ATEN.cumprod.default:
        source, dim = node.args[:2]
        assert isinstance(source, Node) and isinstance(dim, int)
        return _Product(dim % fake(source).ndim, lambda _: source)
    exponent = node.args[0] if node.target is _ATEN.exp.default else None
    return _running_logarithms(exponent) if isinstance(exponent, Node) else None


def _running_logarithms(node: Any) -> _Product | None:
    """The product whose logarithms a running sum holds, perhaps after zeros."""
    padding: list[int] = []
    if node.target in (_ATEN.pad.default, _ATEN.constant_pad_nd.default):
        given = named_arguments(node)
        padding, value = list(given["pad"]), given["value"]
        node = given["self"]
        if value or given.get("mode", "constant") != "constant":
            return None
    if not _is(node, _ATEN.cumsum.default):
        return None
    source, dim = node.args[:2]
    assert isinstance(source, Node) and isinstance(dim, int)
    dim %= fake(source).ndim
    last = 2 * (fake(source).ndim - 1 - dim)
    if any(amount for place, amount in enumerate(padding) if place != last):
        return None

    def factors(before: Node) -> Node:
        made = _exponential(before, source)
        if any(padding):
            made = insert(before, _ATEN.constant_pad_nd.default, made, padding, 1.0)
        return made

    return _Product(dim, factors)


def _exponential(before: Node, node: Any) -> Node:
    """The exponential of a node, factor by factor where that is a sum."""
    if node.target is _ATEN.log.default:
        source = node.args[0]
        assert isinstance(source, Node)
        return source
    if node.target is _ATEN.add.Tensor and not node.kwargs and len(node.all_input_nodes) == 2:
        parts = [_exponential(before, each) for each in node.all_input_nodes]
        return insert(before, _ATEN.mul.Tensor, *parts)
    if node.target is _ATEN.cat.default:
        members, dim = arguments(node, None, 0)
        parts = [_exponential(before, each) for each in members]
        return insert(before, _ATEN.cat.default, parts, dim)
    return insert(before, _ATEN.exp.default, node)


def _recurrence(node: Node, factors: Node, terms: Node, dim: int) -> Node:
    """`h[t] = factors[t] * h[t - 1] + terms[t]`, in steps that join twice as many as before."""
    size, taken = fake(terms).shape[dim], 1

    def part(source: Node, start: int, end: int) -> Node:
        made = insert(node, _ATEN.slice.Tensor, source, dim, start, end)
        mark_as_step(made)
        return made

    while taken < size:
        later = part(factors, taken, size)
        carried = insert(node, _ATEN.mul.Tensor, later, part(terms, 0, size - taken))
        joined = insert(node, _ATEN.add.Tensor, part(terms, taken, size), carried)
        terms = insert(node, _ATEN.cat.default, [part(terms, 0, taken), joined], dim)
        steps = [carried, joined]
        if 2 * taken < size:
            product = insert(node, _ATEN.mul.Tensor, later, part(factors, 0, size - taken))
            factors = insert(node, _ATEN.cat.default, [part(factors, 0, taken), product], dim)
            steps += [product, factors, terms]
        for each in steps:
            mark_as_step(each)
        taken *= 2
    return terms


def _is(node: Any, target: Any) -> bool:
    return isinstance(node, Node) and node.target is target


def _same_dim(first: int, second: int, node: Node) -> bool:
    return bool(first == second % fake(node).ndim)


def _is_same(node: Node, made: Node) -> bool:
    """Whether samples show no difference, such as by a term against a division by 0."""
    if fake(node).shape != fake(made).shape or fake(node).dtype != torch.float32:
        return False
    return all(
        bool((real - other).abs().max() <= _CLOSE * real.abs().max())
        for real, other in sampled(node, made)
    )
