"""Gives int16 to probabilities that 8 bits are too coarse for, and to the products around them.

Attention to 192 keys, or to a few of 64, has weights of hardly a step beside others of many: no
step of 8 bits leaves enough of both. Nor does it of scores that span tens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.operators.masked_softmax import INT8_BITS
from cmcompiler.frontend.rewrites.editing import insert, is_constant, replace
from cmcompiler.frontend.rewrites.fixed_ranges import MOVEMENTS
from cmcompiler.frontend.rewrites.sampled import byte_step, sampled
from cmcompiler.frontend.rewrites.short import has_short_form, shorten
from cmcompiler.frontend.sensitivity import snr
from cmcompiler.frontend.softmax_ranges import FINE, ProbabilityMeter, dimension_of, most_bits

_MATRICES = torch.ops.aten.bmm.default
_FUNCTION = "cmbuild.function.default"
_PRODUCTS = {"aten.bmm.default", "aten.mul.Tensor", "cmbuild.mul.default"}
_SUMS = {"aten.mean.dim", "cmbuild.mean.default", "cmbuild.sum.default"}

_MOST_SAMPLES = 4

FINE_PRODUCTS = 38.0
"""In dB: products of weights that keep as much leave room for the roundings before and after."""

Values = Sequence[Tensor]
"""The values of a node, one for each sample."""


@dataclass(frozen=True, slots=True)
class _Softmax:
    """
    Attributes:
        node: that makes probabilities.
        scores: what they are made of.
        logarithms: of the probabilities, where the graph computes these first.
    """

    node: Node
    scores: Node
    dim: int
    logarithms: Node | None = None

    @property
    def way(self) -> tuple[Node, ...]:
        """The product of two computed matrices that scores are, and functions of it, moved at most;
        nothing if they are others.
        """
        source, functions = self.scores, list[Node]()
        while source.target in MOVEMENTS or str(source.target) == _FUNCTION:
            functions += [source] if str(source.target) == _FUNCTION else []
            source = source.all_input_nodes[0]
        return (source, *functions[::-1]) if source.target is _MATRICES else ()

    def is_coarse(self, made: Values, scores: Values, logarithms: Values, *weighed: Values) -> bool:
        """Whether some rounding to 8 bits leaves less than FINE, or all of them less than enough of
        what weights are multiplied with.

        Args:
            weighed: of the matrices in `weighed`.
        """
        if self.way and _lost(scores, lambda x: x.softmax(self.dim)):
            return True
        is_lossy = _lost(logarithms, torch.exp) if self.logarithms else self._is_lossy(made)
        return is_lossy or any(self._spoils(made, scores, each) for each in weighed)

    @property
    def weighed(self) -> tuple[Node, ...]:
        """The matrices that weights are multiplied with as they are, where scores are a product."""
        users = [user for user in self.node.users if user.target is _MATRICES and self.way]
        return tuple(user.all_input_nodes[1] for user in users if user.args[0] is self.node)

    def _spoils(self, made: Values, scores: Values, weighed: Values) -> bool:
        """Whether products lose much to the rounding of scores and weights together."""
        step, least = byte_step(scores) or 1.0, float(torch.stack(list(made)).max()) / 255
        if self.logarithms is None:
            least = max(least, 2.0 ** -(INT8_BITS + most_bits(self.node)))
        exact = [one @ other for one, other in zip(made, weighed, strict=True)]
        rounded = [((x / step).round() * step).softmax(self.dim) for x in scores]
        coarse = [
            (x / least).round() * least @ other for x, other in zip(rounded, weighed, strict=True)
        ]
        return snr(exact, coarse) < FINE_PRODUCTS

    def _is_lossy(self, made: Values) -> bool:
        """Whether no step is fine on each sample: one with few keys must not hide others."""
        meters = [ProbabilityMeter(self.node.name, self.dim) for _ in made]
        for meter, probabilities in zip(meters, made, strict=True):
            meter(probabilities)
        tried = range(most_bits(self.node) + 1)
        return not any(all(meter.is_fine(bits) for meter in meters) for bits in tried)

    def shorten(self) -> None:
        """Gives it its int16 form; with it, the way to it, and means and products of it."""
        node = self.node
        if self.logarithms is not None:
            node = insert(node, torch.ops.aten.softmax.int, self.scores, self.dim)
            replace(self.node, node)
        readers = dict.fromkeys(_readers(node))
        for each in (*self.way, node, *readers):
            shorten(each)


def lengthen_probabilities(module: GraphModule) -> None:
    """Gives int16 to each softmax of a product of matrices, or that weighs others, which samples
    show to lose too much in 8 bits.
    """
    softmaxes = [softmax for node in module.graph.nodes if (softmax := _softmax(node)) is not None]
    softmaxes = [each for each in softmaxes if each.way or any(_readers(each.node))]
    if not softmaxes:
        return
    nodes = [
        (each.node, each.scores, each.logarithms or each.node, *each.weighed) for each in softmaxes
    ]
    rows = islice(sampled(*(node for some in nodes for node in some)), _MOST_SAMPLES)
    columns = iter(list(zip(*rows, strict=True)))
    values = [tuple(islice(columns, len(some))) for some in nodes]
    coarse = [
        softmax
        for softmax, given in zip(softmaxes, values, strict=True)
        if given and softmax.is_coarse(*given)
    ]
    for softmax in coarse:
        softmax.shorten()


def _softmax(node: Node) -> _Softmax | None:
    dim = dimension_of(node)
    if dim is not None and has_short_form(node):
        return _Softmax(node, node.all_input_nodes[0], dim)
    if str(node.target) != _FUNCTION or node.args[1] != "exp(x)":
        return None
    logarithms = node.all_input_nodes[0]
    if str(logarithms.target) != "cmbuild.log_softmax.default":
        return None
    over = logarithms.args[1]
    assert isinstance(over, int)
    return _Softmax(node, logarithms.all_input_nodes[0], over, logarithms)


def _lost(column: Values, function: Callable[[Tensor], Tensor]) -> bool:
    """Whether a function of numbers in 255 steps keeps less than FINE."""
    step = byte_step(column) or 1.0
    return (
        snr([*map(function, column)], [function((x / step).round() * step) for x in column]) < FINE
    )


def _readers(node: Node) -> Iterator[Node]:
    """Products with what a node makes, moved at most, and sums of it and of these."""
    for user in node.users:
        if user.target in MOVEMENTS:
            yield from _readers(user)
        elif str(user.target) in _PRODUCTS and not any(map(is_constant, user.all_input_nodes)):
            yield user
            if user.target is not _MATRICES:
                yield from (each for each in _readers(user) if str(each.target) in _SUMS)
        elif str(user.target) in _SUMS:
            yield user
