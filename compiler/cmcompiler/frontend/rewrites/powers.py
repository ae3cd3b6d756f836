"""Powers of two tensors by exponentials and logarithms, for which there are tables."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.constants import uniform, value_of
from cmcompiler.frontend.rewrites.editing import constant, fake, insert, named_arguments, replace

_ATEN = torch.ops.aten

LEAST_BASE = 1e-12
"""Added to bases, of which 0 has no logarithm; no larger one than 1e-4 changes in float32."""


def write_out_powers(module: GraphModule) -> None:
    """Spells powers whose exponents or bases are constants.

    Exponents that are whole stay: their bases may be negative.
    """
    for node in list(module.graph.nodes):
        if node.target is not _ATEN.pow.Tensor_Tensor or fake(node).dtype != torch.float32:
            continue
        given = named_arguments(node)
        made = _power(node, given["self"], given["exponent"])
        if made is not None:
            replace(node, made)


def _power(node: Node, base: Node, exponent: Node) -> Node | None:
    number, exponents, bases = uniform(exponent), value_of(exponent), value_of(base)
    if number is not None and fake(base).shape == fake(node).shape:
        return insert(node, _ATEN.pow.Tensor_Scalar, base, number)
    if exponents is not None and bool((exponents != exponents.round()).all()):
        logarithm = insert(
            node, _ATEN.log.default, insert(node, _ATEN.add.Tensor, base, LEAST_BASE)
        )
        factors = logarithm, exponent
    elif bases is not None and bool((bases > 0).all()):
        factors = exponent, constant(node, f"{node.name}_log", bases.log())
    else:
        return None
    return insert(node, _ATEN.exp.default, insert(node, _ATEN.mul.Tensor, *factors))
