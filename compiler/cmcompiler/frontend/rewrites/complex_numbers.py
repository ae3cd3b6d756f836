"""Complex tensors as pairs of real ones: Fourier transforms, rotations, spectra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import getitem
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import (
    constant,
    fake,
    insert,
    named_arguments,
    replace,
)
from cmcompiler.frontend.rewrites.fixed_ranges import CASTS
from cmcompiler.frontend.rewrites.fourier import (
    TRANSFORMS,
    ComplexParts,
    frames_to_spectra,
    shifts,
    spectra_to_signal,
)
from cmcompiler.usercode import place_of_node

_ATEN = torch.ops.aten

_HINT = "compute real and imaginary parts as two real tensors"

_LINEAR = {
    *(_ATEN.reshape.default, _ATEN.flatten.using_ints, _ATEN.permute.default, _ATEN.t.default),
    *(_ATEN.transpose.int, _ATEN.unsqueeze.default, _ATEN.squeeze.default, _ATEN.squeeze.dim),
    *(_ATEN.squeeze.dims, _ATEN.expand.default, _ATEN.slice.Tensor, _ATEN.select.int),
    *(_ATEN.index_select.default, _ATEN.clone.default, _ATEN.contiguous.default),
    *(_ATEN.roll.default, _ATEN.flip.default, _ATEN.cat.default, _ATEN.stack.default),
    *(_ATEN.repeat.default, _ATEN.sum.dim_IntList, _ATEN.sum.default, _ATEN.mean.dim),
    *(_ATEN.mean.default, _ATEN.cumsum.default, _ATEN.neg.default, _ATEN.movedim.int),
    *(_ATEN.split.Tensor, _ATEN.split_with_sizes.default, _ATEN.chunk.default),
    *(_ATEN.unbind.int, _ATEN.narrow.default, _ATEN.constant_pad_nd.default, _ATEN.pad.default),
    *(_ATEN.slice_scatter.default, _ATEN.select_scatter.default, _ATEN.detach.default),
    *(_ATEN.alias.default, _ATEN.movedim.intlist, _ATEN.unflatten.int, _ATEN.tile.default),
    *(_ATEN.lift_fresh_copy.default, _ATEN.unfold.default, _ATEN.diagonal.default, getitem),
    *(_ATEN.resolve_conj.default, _ATEN.resolve_neg.default, _ATEN.avg_pool1d.default),
}
"""Operators that do the same to the real and to the imaginary part, each on its own."""
_VIEWS = {_ATEN.view.default, _ATEN._unsafe_view.default, _ATEN.view_as.default}
_CONJUGATES = {
    *(_ATEN.conj.default, _ATEN._conj.default, _ATEN.conj_physical.default),
    _ATEN._conj_physical.default,
}
_PRODUCTS = {
    *(_ATEN.mul.Tensor, _ATEN.matmul.default, _ATEN.mm.default, _ATEN.bmm.default),
    *(_ATEN.linear.default, _ATEN.mul.Scalar),
}
"""Linear in each of two operands."""
_SUMS = {
    *(_ATEN.add.Tensor, _ATEN.add.Scalar, _ATEN.sub.Tensor, _ATEN.sub.Scalar),
    _ATEN.rsub.Scalar,
}


def separate_parts(module: GraphModule) -> None:
    """
    Raises:
        Unsupported: an operator on complex numbers that is not among those below.
    """
    separation = _Separation()
    for node in list(module.graph.nodes):
        if node.op == "call_function" and separation.concerns(node):
            separation.separate(node)


def _is_complex(value: Any) -> bool:
    if isinstance(value, Node):
        value = value.meta.get("val")
    if isinstance(value, (tuple, list)):
        return any(map(_is_complex, value))
    return value.is_complex() if isinstance(value, Tensor) else isinstance(value, complex)


class _Separation:
    """The parts of each complex node so far."""

    def __init__(self) -> None:
        self._parts: dict[Node, ComplexParts] = {}

    def concerns(self, node: Node) -> bool:
        if _is_complex(node) or node.target is _ATEN.stft.default:
            return True
        return any(each in self._parts for each in node.all_input_nodes)

    def separate(self, node: Node) -> None:
        """Notes the parts of a complex node, or replaces a real one that is made of them."""
        result = self._result(node)
        if result is None:
            verb = "makes" if _is_complex(node) else "takes"
            name = str(getattr(node.target, "__name__", node.target)).partition(".")[0]
            raise Unsupported(f"{place_of_node(node)}{name} {verb} complex numbers", _HINT)
        if isinstance(result, Node):
            replace(node, result)
        else:
            self._parts[node] = result

    def _result(self, node: Node) -> ComplexParts | Node | None:
        target = node.target
        if _is_complex(node) and (value := value_of(node)) is not None:
            return _constant_parts(node, value)
        if target in _VIEWS:
            return self._each(node, _ATEN.reshape.default, [node.args[0], list(fake(node).shape)])
        if target in _LINEAR:
            return self._each(node, target, node.args)
        if not isinstance(target, OpOverload):
            return None
        given = named_arguments(node)
        if target in TRANSFORMS:
            result = TRANSFORMS[target](node, self._of(node, given["self"]), given)
            return result if _is_complex(node) else result.real
        compute = _OPERATORS.get(target)
        return None if compute is None else compute(self, node, given)

    def _of(self, node: Node, given: Any) -> ComplexParts:
        """The parts of an operand."""
        if isinstance(given, Node):
            if given in self._parts:
                return self._parts[given]
            if not _is_complex(given):
                return ComplexParts(given)
            value = value_of(given)
            if value is None:
                raise Unsupported(f"{place_of_node(node)}an input is complex", _HINT)
            return _constant_parts(node, value)
        return _constant_parts(node, torch.as_tensor(given))

    def _each(self, node: Node, target: Any, args: Sequence[Any]) -> ComplexParts:
        """The parts of what an operator makes of each part."""
        operands = {each: self._of(node, each) for each in node.all_input_nodes}
        complexes = {each: parts for each, parts in operands.items() if _is_complex(each)}

        def part(arg: Node, is_real: bool) -> Node:
            parts = operands[arg]
            if is_real:
                return parts.real
            return parts.imaginary or _zeros(node, parts.real)

        real = insert(node, target, *map_arg(args, lambda n: part(n, True)), **node.kwargs)
        if all(parts.imaginary is None for parts in complexes.values()):
            return ComplexParts(real)
        imaginary = insert(node, target, *map_arg(args, lambda n: part(n, False)), **node.kwargs)
        return ComplexParts(real, imaginary)

    # Operators, from their arguments by name:

    def sum_of(self, node: Node, given: dict[str, Any]) -> ComplexParts:
        first, second = (self._of(node, given[name]) for name in ("self", "other"))
        if node.target is _ATEN.rsub.Scalar:
            first, second = second, first
        is_sum = node.target in (_ATEN.add.Tensor, _ATEN.add.Scalar)
        operator = _ATEN.add.Tensor if is_sum else _ATEN.sub.Tensor
        share = given.get("alpha", 1)
        real = insert(node, operator, first.real, second.real, alpha=share)
        if second.imaginary is None:
            return ComplexParts(real, first.imaginary and _as_large(node, first.imaginary))
        if first.imaginary is not None:
            parts = first.imaginary, second.imaginary
            return ComplexParts(real, insert(node, operator, *parts, alpha=share))
        factor = share if is_sum else -share
        imaginary = second.imaginary
        if factor != 1:
            imaginary = insert(node, _ATEN.mul.Tensor, imaginary, factor)
        return ComplexParts(real, _as_large(node, imaginary))

    def product_of(self, node: Node, given: dict[str, Any]) -> ComplexParts | None:
        if given.get("bias") is not None:
            return None
        first, second = (self._of(node, arg) for arg in node.args[:2])
        return _product(node, node.target, first, second)

    def einsum_of(self, node: Node, given: dict[str, Any]) -> ComplexParts | None:
        equation, operands = node.args[:2]
        if len(operands) != 2:  # type: ignore[arg-type]
            return None
        first, second = (self._of(node, each) for each in operands)  # type: ignore[union-attr]

        def contract(one: Node, other: Node) -> Node:
            return insert(node, _ATEN.einsum.default, equation, [one, other])

        return _combined(node, contract, first, second)

    def quotient_of(self, node: Node, given: dict[str, Any]) -> ComplexParts | None:
        dividend, divisor = (self._of(node, given[name]) for name in ("self", "other"))
        if divisor.imaginary is not None:
            length = _square(node, divisor)
            dividend = _product(node, _ATEN.mul.Tensor, dividend, _conjugate(node, divisor))
            divisor = ComplexParts(length)
        real = insert(node, _ATEN.div.Tensor, dividend.real, divisor.real)
        if dividend.imaginary is None:
            return ComplexParts(real)
        return ComplexParts(real, insert(node, _ATEN.div.Tensor, dividend.imaginary, divisor.real))

    def reciprocal_of(self, node: Node, given: dict[str, Any]) -> ComplexParts:
        divisor = self._of(node, given["self"])
        turned, length = _conjugate(node, divisor), _square(node, divisor)
        return ComplexParts(*(insert(node, _ATEN.div.Tensor, x, length) for x in turned.parts))

    def copy_of(self, node: Node, given: dict[str, Any]) -> ComplexParts:
        parts = self._of(node, given["src"]).parts
        return ComplexParts(*(_as_large(node, part) for part in parts))

    def power_of(self, node: Node, given: dict[str, Any]) -> ComplexParts | None:
        if given.get("exponent", 2) != 2:
            return None
        base = self._of(node, given["self"])
        return _product(node, _ATEN.mul.Tensor, base, base)

    def exponential_of(self, node: Node, given: dict[str, Any]) -> ComplexParts:
        power = self._of(node, given["self"])
        assert power.imaginary is not None
        turn = _turned(node, power.imaginary)
        if _is_zero(power.real):
            return turn
        size = insert(node, _ATEN.exp.default, power.real)
        return _product(node, _ATEN.mul.Tensor, ComplexParts(size), turn)

    def length_of(self, node: Node, given: dict[str, Any]) -> Node:
        parts = self._of(node, given["self"])
        if parts.imaginary is None:
            return insert(node, _ATEN.abs.default, parts.real)
        square = _square(node, parts)
        for user in list(node.users):
            if user.target is _ATEN.square.default or (
                user.target is _ATEN.pow.Tensor_Scalar and user.args[1] == 2
            ):
                replace(user, square)
        return insert(node, _ATEN.sqrt.default, square)

    def angle_of(self, node: Node, given: dict[str, Any]) -> Node:
        parts = self._of(node, given["self"])
        imaginary = parts.imaginary or _zeros(node, parts.real)
        return insert(node, _ATEN.atan2.default, imaginary, parts.real)

    def real_of(self, node: Node, given: dict[str, Any]) -> Node:
        return self._of(node, given["self"]).real

    def imaginary_of(self, node: Node, given: dict[str, Any]) -> Node:
        parts = self._of(node, given["self"])
        return parts.imaginary or _zeros(node, parts.real)

    def pair_of(self, node: Node, given: dict[str, Any]) -> Node:
        parts = self._of(node, given["self"])
        pair = [parts.real, parts.imaginary or _zeros(node, parts.real)]
        return insert(node, _ATEN.stack.default, pair, -1)

    def conjugate_of(self, node: Node, given: dict[str, Any]) -> ComplexParts:
        return _conjugate(node, self._of(node, given["self"]))

    def cast_of(self, node: Node, given: dict[str, Any]) -> ComplexParts | Node:
        parts = self._of(node, given["self"])
        return parts if _is_complex(node) else parts.real

    def complex_of(self, node: Node, given: dict[str, Any]) -> ComplexParts:
        return ComplexParts(*(_as_large(node, given[name]) for name in ("real", "imag")))

    def polar_of(self, node: Node, given: dict[str, Any]) -> ComplexParts:
        turn = _turned(node, given["angle"])
        return _product(node, _ATEN.mul.Tensor, ComplexParts(given["abs"]), turn)

    def joined_pair(self, node: Node, given: dict[str, Any]) -> ComplexParts:
        return ComplexParts(*(insert(node, _ATEN.select.int, given["self"], -1, n) for n in (0, 1)))

    def spectra_of(self, node: Node, given: dict[str, Any]) -> ComplexParts | Node | None:
        if _is_complex(given["self"]):
            return None
        parts = frames_to_spectra(node, given["self"], given)
        if parts is None or _is_complex(node):
            return parts
        assert parts.imaginary is not None
        return insert(node, _ATEN.stack.default, [parts.real, parts.imaginary], -1)

    def signal_of(self, node: Node, given: dict[str, Any]) -> Node | None:
        return spectra_to_signal(node, self._of(node, given["self"]), given)

    def shifted(self, node: Node, given: dict[str, Any]) -> ComplexParts:
        rank = fake(node).ndim
        arguments = [given["self"], *shifts(node, rank, given["dim"])]
        return self._each(node, _ATEN.roll.default, arguments)


_Compute = Callable[[_Separation, Node, dict[str, Any]], ComplexParts | Node | None]

_OPERATORS: dict[Any, _Compute] = {
    **dict.fromkeys(_SUMS, _Separation.sum_of),
    **dict.fromkeys(_PRODUCTS, _Separation.product_of),
    **dict.fromkeys(_CONJUGATES, _Separation.conjugate_of),
    **dict.fromkeys(CASTS, _Separation.cast_of),
    _ATEN.einsum.default: _Separation.einsum_of,
    _ATEN.div.Tensor: _Separation.quotient_of,
    _ATEN.div.Scalar: _Separation.quotient_of,
    _ATEN.reciprocal.default: _Separation.reciprocal_of,
    _ATEN.pow.Tensor_Scalar: _Separation.power_of,
    _ATEN.square.default: _Separation.power_of,
    _ATEN.exp.default: _Separation.exponential_of,
    _ATEN.abs.default: _Separation.length_of,
    _ATEN.copy.default: _Separation.copy_of,
    _ATEN.angle.default: _Separation.angle_of,
    _ATEN.real.default: _Separation.real_of,
    _ATEN.imag.default: _Separation.imaginary_of,
    _ATEN.view_as_real.default: _Separation.pair_of,
    _ATEN.complex.default: _Separation.complex_of,
    _ATEN.polar.default: _Separation.polar_of,
    _ATEN.view_as_complex.default: _Separation.joined_pair,
    _ATEN.stft.default: _Separation.spectra_of,
    _ATEN.istft.default: _Separation.signal_of,
    _ATEN.fft_fftshift.default: _Separation.shifted,
    _ATEN.fft_ifftshift.default: _Separation.shifted,
}


def _is_zero(node: Node) -> bool:
    value = value_of(node)
    return value is not None and not bool(value.any())


def _constant_parts(node: Node, value: Tensor) -> ComplexParts:
    if not value.is_complex():
        return ComplexParts(constant(node, f"{node.name}_real", value.float()))
    real = constant(node, f"{node.name}_real", value.real.float().contiguous())
    if not bool(value.imag.any()):
        return ComplexParts(real)
    return ComplexParts(
        real, constant(node, f"{node.name}_imaginary", value.imag.float().contiguous())
    )


def _zeros(node: Node, like: Node) -> Node:
    value = fake(like)
    if isinstance(value, (tuple, list)):
        raise Unsupported(f"{place_of_node(node)}parts of a complex tensor are real", _HINT)
    zero = constant(node, f"{node.name}_zero", torch.zeros([1] * value.ndim))
    return insert(node, _ATEN.expand.default, zero, list(value.shape))


def _as_large(node: Node, part: Node) -> Node:
    shape = list(fake(node).shape)
    if list(fake(part).shape) == shape:
        return part
    return insert(node, _ATEN.expand.default, part, shape)


def _combined(
    node: Node, product: Callable[[Node, Node], Node], first: ComplexParts, second: ComplexParts
) -> ComplexParts:
    """The product of two numbers, real if both are."""
    real = product(first.real, second.real)
    if first.imaginary is None and second.imaginary is None:
        return ComplexParts(real)
    if first.imaginary is None:
        assert second.imaginary is not None
        return ComplexParts(real, product(first.real, second.imaginary))
    if second.imaginary is None:
        return ComplexParts(real, product(first.imaginary, second.real))
    less = product(first.imaginary, second.imaginary)
    crossed = product(first.real, second.imaginary), product(first.imaginary, second.real)
    return ComplexParts(
        insert(node, _ATEN.sub.Tensor, real, less), insert(node, _ATEN.add.Tensor, *crossed)
    )


def _product(node: Node, operator: Any, first: ComplexParts, second: ComplexParts) -> ComplexParts:
    return _combined(node, lambda one, other: insert(node, operator, one, other), first, second)


def _square(node: Node, parts: ComplexParts) -> Node:
    """The square of the length of each number."""
    squares = [
        insert(node, _ATEN.square.default, part)
        for part in (parts.real, parts.imaginary)
        if part is not None
    ]
    return squares[0] if len(squares) == 1 else insert(node, _ATEN.add.Tensor, *squares)


def _conjugate(node: Node, parts: ComplexParts) -> ComplexParts:
    if parts.imaginary is None:
        return parts
    return ComplexParts(parts.real, insert(node, _ATEN.neg.default, parts.imaginary))


def _turned(node: Node, angle: Node) -> ComplexParts:
    """Numbers of length 1 at an angle."""
    return ComplexParts(*(insert(node, f, angle) for f in (_ATEN.cos.default, _ATEN.sin.default)))
