"""Computes what users write as quotients of running products without these, which lose all of it.

`h[t] = a[t] * h[t - 1] + b[t]` in parallel is `p * cumsum(b / p)` of `p = cumprod(a)`, or the same
in logarithms (Heinsen, 2023: Efficient parallelization of a ubiquitous sequential computation).
Products of gates are too small, and quotients by them too large, for 255 steps; `h` is neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import number_of
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

_CLOSE = 1e-3
"""Share of the largest result, a quarter of a step of 8 bits; what keeps a divisor from 0 may
change as much.
"""


@dataclass(frozen=True, slots=True)
class _Product:
    """A running product.

    Attributes:
        make_factors: what makes its factors, before a node.
    """

    dim: int
    make_factors: Callable[[Node], Node]


@dataclass(frozen=True, slots=True)
class _Quotient:
    """Terms over a running product.

    Attributes:
        guarded: the divisor, which may keep the product from 0.
    """

    terms: Node
    guarded: Node | None = None


def compute_recurrences(module: GraphModule) -> None:
    """Replaces quotients of running products, and their logarithms, by steps of twice the length
    each.
    """
    is_any_made = False
    for node in list(module.graph.nodes):
        forms: Iterator[Node] = iter(())
        if node.target is _ATEN.mul.Tensor:
            forms = _of_quotients(node)
        elif node.target is _ATEN.exp.default:
            forms = _of_logarithms(node)
        for made in forms:
            is_any_made = True
            if _is_same(node, made):
                replace(node, made)
                break
    if is_any_made:
        # The running products would be written out, too.
        module.graph.eliminate_dead_code()


def _of_quotients(node: Any) -> Iterator[Node]:
    """The recurrence that a product of a running product and a running sum computes, without
    and with what keeps divisors from 0.
    """
    for product, total in (node.args, node.args[::-1]):
        if not isinstance(product, Node) or not _is(total, _ATEN.cumsum.default):
            continue
        running = _running_product(product)
        given = named_arguments(total)
        quotient = _quotient(given["self"], product)
        if running is None or quotient is None:
            continue
        terms, dim = quotient.terms, running.dim
        if fake(product).ndim != fake(terms).ndim or not _same_dim(dim, given["dim"], terms):
            continue
        factors = running.make_factors(node)
        yield _recurrence(node, factors, terms, dim)
        share = _share(node, factors, dim, quotient.guarded)
        if share is not None:
            kept = insert(node, _ATEN.mul.Tensor, terms, share)
            yield _recurrence(node, factors, kept, dim)


def _of_logarithms(node: Any) -> Iterator[Node]:
    """The recurrence that an exponential of a sum of logarithms computes."""
    total = node.args[0]
    if not _is(total, _ATEN.add.Tensor) or total.kwargs:
        return
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
            yield _recurrence(node, running.make_factors(node), made, running.dim)


def _quotient(node: Any, product: Node) -> _Quotient | None:
    """Terms over a running product."""
    if _is(node, _ATEN.div.Tensor):
        terms, divisor = node.args
        return _over(terms, divisor, product)
    if not _is(node, _ATEN.mul.Tensor):
        return None
    for terms, inverse in (node.args, node.args[::-1]):
        if not isinstance(terms, Node) or not isinstance(inverse, Node):
            continue
        if _is(inverse, _ATEN.reciprocal.default):
            return _over(terms, inverse.args[0], product)
        exponent: Any = inverse.args[0] if _is(inverse, _ATEN.exp.default) else None
        is_inverse = _is(exponent, _ATEN.neg.default) and _is(product, _ATEN.exp.default)
        if is_inverse and exponent.args[0] is product.args[0]:
            return _Quotient(terms)
    return None


def _over(terms: Any, divisor: Any, product: Node) -> _Quotient | None:
    if not isinstance(terms, Node):
        return None
    if divisor is product:
        return _Quotient(terms)
    is_guarded = _is(divisor, _ATEN.add.Tensor) or _is(divisor, _ATEN.clamp.default)
    if not is_guarded or divisor.args[0] is not product:
        return None
    is_number = all(number_of(other) is not None for other in divisor.args[1:])
    return _Quotient(terms, divisor) if is_number and not divisor.kwargs else None


def _share(node: Node, factors: Node, dim: int, guarded: Any) -> Node | None:
    """What a guarded divisor leaves of a quotient, from the logarithms of a running product.

    `p / (p + e)` is sigmoid(log(p) - log(e)), `p / max(p, e)` is exp(min(log(p) - log(e), 0)).
    """
    least = None if guarded is None else number_of(guarded.args[1])
    if least is None or least <= 0:
        return None
    logarithms = insert(node, _ATEN.cumsum.default, _logarithm(node, factors), dim)
    above = insert(node, _ATEN.sub.Tensor, logarithms, math.log(least))
    if guarded.target is _ATEN.add.Tensor:
        return insert(node, _ATEN.sigmoid.default, above)
    return insert(node, _ATEN.exp.default, insert(node, _ATEN.clamp.default, above, None, 0.0))


def _logarithm(before: Node, node: Any) -> Node:
    """The logarithm of factors, after which margins of 1 are 0."""
    if _is(node, _ATEN.pad.default) and named_arguments(node)["value"] == 1:
        inner = insert(before, _ATEN.log.default, node.args[0])
        return insert(before, _ATEN.constant_pad_nd.default, inner, node.args[1], 0.0)
    return insert(before, _ATEN.log.default, node)


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
