"""Powers of two tensors by exponentials and logarithms, for which there are tables."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import uniform, value_of
from cmcompiler.frontend.rewrites.editing import (
    constant,
    fake,
    insert,
    mark_as_step,
    named_arguments,
    replace,
)
from cmcompiler.frontend.rewrites.sampled import sampled

_ATEN, _OWN = torch.ops.aten, torch.ops.cmbuild
_POWERS = _ATEN.pow.Scalar, _ATEN.pow.Tensor_Tensor

LEAST_BASE = 1e-12
"""Added to bases, of which 0 has no logarithm; no larger one than 1e-4 changes in float32."""


def write_out_powers(module: GraphModule) -> None:
    """Spells powers whose exponents or bases are constants, or whose bases no sample has below 0.

    Exponents that are whole stay: their bases may be negative. Exponents of negative numbers are
    rounded, as powers of them are numbers for whole exponents alone.
    """
    for node in list(module.graph.nodes):
        if node.target not in _POWERS or fake(node).dtype != torch.float32:
            continue
        given = named_arguments(node)
        base, exponent = given["self"], given["exponent"]
        if isinstance(base, Node):
            made = _power(node, base, exponent)
        else:
            made = _of_number(node, base, exponent) if base < 0 else None
        if made is not None:
            replace(node, made)


def _of_number(node: Node, base: float, exponent: Node) -> Node:
    return insert(node, _ATEN.pow.Scalar, base, insert(node, _ATEN.round.default, exponent))


def _power(node: Node, base: Node, exponent: Node) -> Node | None:
    number, exponents, bases = uniform(exponent), value_of(exponent), value_of(base)
    if number is not None and fake(base).shape == fake(node).shape:
        return insert(node, _ATEN.pow.Tensor_Scalar, base, number)
    if exponents is not None and bool((exponents != exponents.round()).all()):
        logarithm = insert(
            node, _ATEN.log.default, insert(node, _ATEN.add.Tensor, base, LEAST_BASE)
        )
        factors = logarithm, exponent
    elif bases is not None and bool((bases != 0).all()):
        factors = exponent, constant(node, f"{node.name}_log", bases.abs().log())
    elif exponents is None and bases is None and _is_positive(base):
        return _computed(node, base, exponent)
    else:
        return None
    size = insert(node, _ATEN.exp.default, insert(node, _ATEN.mul.Tensor, *factors))
    if bases is None or bool((bases > 0).all()):
        return size
    sign = _of_number(node, -1.0, exponent)
    if not bool((bases < 0).all()):
        is_negative = constant(node, f"{node.name}_negative", bases < 0)
        sign = insert(node, _ATEN.where.ScalarOther, is_negative, sign, 1.0)
    return insert(node, _ATEN.mul.Tensor, size, sign)


def _computed(node: Node, base: Node, exponent: Node) -> Node:
    """A power of two computed tensors, with int16 in between.

    Logarithms of bases near 0 take most of a range, and an error of them is one of the power's
    relative size.
    """
    expression = f"log(add.Tensor(x, {LEAST_BASE}))"
    logarithm = insert(node, _OWN.short_function.default, base, expression)
    product = insert(node, _OWN.short_mul.default, logarithm, exponent)
    for step in (logarithm, product):
        mark_as_step(step)
    return insert(node, _OWN.short_function.default, product, "exp(x)")


def _is_positive(base: Node) -> bool:
    """Whether samples show a base, never below 0."""
    least = [float(value.min()) for (value,) in sampled(base)]
    return bool(least) and min(least) >= 0
