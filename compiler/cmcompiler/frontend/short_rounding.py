"""Rounds weights of layers with int16 activations so that their sums stay near those in float.

As in `compensated_rounding`, later columns make up for what rounding the earlier ones loses, and
biases for what all of them lose of the inputs' means. Importing it imports torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.nn import functional

from cmcompiler.frontend.narrow_constants import NARROW
from cmcompiler.frontend.narrow_observers import LEAST_STEP, holds_nibbles, rounded_to_nibbles
from cmcompiler.frontend.operators import recurrent
from cmcompiler.frontend.operators.short import LIBRARY
from cmcompiler.frontend.rewrites.editing import constant, constant_value, is_constant
from cmcompiler.frontend.row_rounding import BYTES, NIBBLES, Grid, power, rounded_rows
from cmcompiler.frontend.simulation import Results, Simulation
from cmcompiler.frontend.weight_steps import LEVELS, in_stored_steps

assert LIBRARY  # the operators exist
assert recurrent.LIBRARY

_DEEPEST = 2048
"""Columns of a layer: products of as many pairs of inputs take 32 MiB."""

SHARES_HELD = (0.1, 0.01, 1.0)
"""Shares of that power by which a change of a weight must pay: more where inputs are few."""

_EXACT = 1e-4
"""The share of a step that single precision may lose of weights that need no rounding."""

_OPS = torch.ops.cmbuild
_LINEAR, _CONVOLUTION = _OPS.short_linear.default, _OPS.short_conv2d.default
_TRANSPOSED = _OPS.short_conv_transpose2d.default

_LAYERS = (_LINEAR, _CONVOLUTION, _TRANSPOSED)
_RECURRENT: dict[Any, int] = {
    **dict.fromkeys((_OPS.short_lstm.default, _OPS.short_lstm_state.default), 3),
    **dict.fromkeys((_OPS.short_gru.default, _OPS.short_gru_state.default), 2),
    _OPS.short_rnn.default: 2,
}
"""The place of the weights of the input; those of the preceding outputs are the next."""


@dataclass(frozen=True, slots=True)
class ShortLayer:
    """A layer with int16 activations.

    Attributes:
        before: its arguments with the weights in float.
        narrow: places of weights that four bits hold in the end.
    """

    node: Node
    before: tuple[Any, ...]
    narrow: tuple[int, ...] = ()

    @property
    def matrices(self) -> tuple[tuple[int, int], ...]:
        """Places of weights and of their biases."""
        if self.node.target in _LAYERS:
            return ((1, 2),)
        first = _RECURRENT[self.node.target]
        return (first, first + 2), (first + 1, first + 3)

    def value(self, place: int) -> Tensor:
        """The weights in float, with a row for each output."""
        held = self.before[place]
        assert isinstance(held, Node)
        return constant_value(held)

    def hold(self, place: int, value: Tensor) -> None:
        made = constant(self.node, f"{self.node.name}_rounded_{place}", value)
        self.node.args = (*self.node.args[:place], made, *self.node.args[place + 1 :])

    def grid(self, place: int) -> Grid:
        return NIBBLES if place in self.narrow else BYTES

    def round_alone(self) -> None:
        """Rounds each weight by itself, as an export does in the end."""
        for place, _ in self.matrices:
            value = self.value(place)
            if place in self.narrow:
                self.hold(place, rounded_to_nibbles(value, 0))
            else:
                rows = value.double().flatten(1)
                self.hold(place, in_stored_steps(rows).reshape(value.shape).to(value.dtype))

    def restore(self) -> None:
        self.node.args = self.before

    def columns(self, place: int, x: Tensor, result: Tensor) -> Tensor:
        """The numbers that weights are multiplied with, [groups, outputs, columns]."""
        if self.node.target is _LINEAR:
            return x.reshape(1, -1, x.shape[-1])
        if self.node.target is _CONVOLUTION:
            return _windows(x, self.value(1).shape[2:], *self.node.args[3:7])
        if self.node.target is _TRANSPOSED:
            return _spread_windows(x, self.value(1).shape[2:], *self.node.args[3:7])
        rows = x if place == self.matrices[0][0] else self._preceding(x, result)
        return rows.reshape(1, -1, rows.shape[-1])

    def _preceding(self, x: Tensor, result: Tensor) -> Tensor:
        """The outputs before each step; the first are 0 unless the result begins with them."""
        batch_first, is_reverse = self.node.args[-2:]
        time = int(bool(batch_first))
        if result.shape[time] == x.shape[time]:
            zeros = torch.zeros_like(result.narrow(time, 0, 1))
            result = torch.cat([result, zeros] if is_reverse else [zeros, result], time)
        return result.narrow(time, int(bool(is_reverse)), x.shape[time])


def short_layers(prepared: GraphModule) -> Iterator[ShortLayer]:
    """Layers whose weights need rounding, and whose inputs are not too many.

    Those that compute what eight bits leave of 16 are as they are to be.
    """
    layers = [
        ShortLayer(node, node.args, node.meta.get(NARROW, ()))
        for node in prepared.graph.nodes
        if node.target in _LAYERS or node.target in _RECURRENT
    ]
    layers = [
        layer
        for layer in layers
        if all(is_constant(layer.node.args[place]) for place, _ in layer.matrices)
    ]
    needy, whole = [], set()
    for layer in layers:
        rows = [layer.value(place).double().flatten(1) for place, _ in layer.matrices]
        if any(map(holds_nibbles, rows)):
            continue
        if not layer.narrow and all(map(_is_exact, rows)):
            whole.add((layer.node.args[0], _reader(layer.node)))
        elif all(each.shape[1] <= _DEEPEST for each in rows):
            needy.append(layer)
    for layer in needy:
        if (layer.node.args[0], _reader(layer.node)) not in whole:
            yield layer


def _reader(node: Node) -> Node | None:
    """The operator that first reads a result, behind its observers."""
    user = next(iter(node.users), None)
    return _reader(user) if user is not None and user.op == "call_module" else user


def compensate_short(
    simulation: Simulation,
    layers: Sequence[ShortLayer],
    samples: Sequence[Sequence[Tensor]],
    held: float,
) -> None:
    """Rounds the weights of layers, one after the other.

    Each layer is rounded for the inputs that it has behind the rounded ones before it, and makes up
    for what those lost, as far as its inputs still tell.

    Args:
        held: one of SHARES_HELD.
    """
    by_node = {layer.node: layer for layer in layers}
    sources = Counter(
        source for node in by_node for source in node.all_input_nodes if not is_constant(source)
    )
    for layer in layers:
        layer.restore()
    exact: dict[Node, Results] = {}
    rounded: dict[Node, Results] = {}
    for place, node in enumerate(n for n in simulation.graph.nodes if n.op == "placeholder"):
        if node in sources:
            exact[node] = rounded[node] = [sample[place] for sample in samples]

    def note(node: Node, results: Results) -> Results:
        if node in sources:
            exact[node] = results
        return results

    def round_layer(node: Node, results: Results) -> Results:
        if node in by_node:
            source = node.all_input_nodes[0]
            _round(by_node[node], exact[source], rounded[source], results, held)
            results = [_computed(node, rounded, place) for place in range(len(results))]
            for each in filter(sources.__contains__, node.all_input_nodes):
                sources[each] -= 1
                if not sources[each]:
                    del exact[each], rounded[each]
        if sources[node]:
            rounded[node] = results
        return results

    simulation.run_on(samples, rounding=False, visit=note)
    simulation.run_on(samples, rounding=True, visit=round_layer)


def _computed(node: Node, given: dict[Node, Results], place: int) -> Any:
    target: Callable[..., Any] = node.target  # type: ignore[assignment]
    arguments = map_arg(
        node.args, lambda each: constant_value(each) if is_constant(each) else given[each][place]
    )
    return target(*arguments, **node.kwargs)


def _round(
    layer: ShortLayer, exact: Results, rounded: Results, results: Results, held: float
) -> None:
    """
    Args:
        exact, rounded: the layer's inputs in float, and as they are rounded.
        results: with weights in float and rounded inputs.
        held: see `compensate_short`.
    """
    for place, of_bias in layer.matrices:
        value = layer.value(place)
        moments = _Moments()
        for x, y, result in zip(exact, rounded, results, strict=True):
            first = result[0] if isinstance(result, tuple) else result
            moments.add(layer.columns(place, x, first), layer.columns(place, y, first))
        groups = moments.groups
        rows = value.double().reshape(groups, len(value) // groups, -1)
        own, across = moments.products()
        wanted = _targets(rows, own, across, held)
        made = rounded_rows(rows, wanted, own, layer.grid(place))
        lost = rows @ moments.exact_mean[..., None] - made @ moments.mean[..., None]
        layer.hold(place, made.reshape(value.shape).to(value.dtype))
        bias = layer.before[of_bias]
        if is_constant(bias):
            before = constant_value(bias)
            layer.hold(of_bias, (before.double() + lost.flatten()).to(before.dtype))
        elif layer.node.target in _LAYERS:
            layer.hold(of_bias, lost.flatten().to(value.dtype))


class _Moments:
    """Means of columns, and products of each pair of them without these."""

    def __init__(self) -> None:
        self._count = 0
        self._sums: list[Tensor] = [torch.zeros(())] * 4

    @property
    def groups(self) -> int:
        return len(self._sums[0])

    def add(self, exact: Tensor, held: Tensor) -> None:
        exact, held = exact.double(), held.double()
        self._count += held.shape[1]
        turned = held.transpose(1, 2)
        more = held.sum(1), exact.sum(1), turned @ held, exact.transpose(1, 2) @ held
        self._sums = [before + each for before, each in zip(self._sums, more, strict=True)]

    @property
    def mean(self) -> Tensor:
        return self._sums[0] / self._count

    @property
    def exact_mean(self) -> Tensor:
        return self._sums[1] / self._count

    def products(self) -> tuple[Tensor, Tensor]:
        """Products of rounded columns, and of exact ones with these; [groups, columns, columns]."""
        mean = self._sums[0][:, None]
        return (
            self._sums[2] - self.mean[..., None] * mean,
            self._sums[3] - self.exact_mean[..., None] * mean,
        )


def _targets(rows: Tensor, own: Tensor, across: Tensor, held: float) -> Tensor:
    """Weights whose sums of rounded inputs are nearest to those of the exact ones.

    Args:
        own: products of each pair of rounded columns, summed over all outputs.
        across: the same of each exact and each rounded one.
        held: see `compensate_short`.
    """
    own_weights = held * power(own)
    sums = rows @ (across + own_weights)
    solved: Tensor = torch.linalg.solve(own + own_weights, sums, left=False)
    return solved


def _is_exact(rows: Tensor) -> bool:
    lost = (in_stored_steps(rows) - rows).abs()
    return bool((lost < _EXACT * rows.abs().amax(1, keepdim=True) / LEVELS + LEAST_STEP).all())


def _windows(x: Tensor, kernel: torch.Size, *window: Any) -> Tensor:
    """
    Args:
        window: stride, padding, dilation, groups.
    """
    stride, padding, dilation, groups = window
    is_pixel = (*kernel, *stride, *padding) == (1, 1, 1, 1, 0, 0)
    seen = x.flatten(2) if is_pixel else functional.unfold(x, kernel, dilation, padding, stride)
    seen = seen.reshape(len(x), groups, -1, seen.shape[2])
    return seen.permute(1, 0, 3, 2).flatten(1, 2)


def _spread_windows(x: Tensor, kernel: torch.Size, *window: Any) -> Tensor:
    """Windows of a transposed convolution: those over an image with zeros between its pixels.

    Args:
        window: stride, padding, dilation, further rows and columns at the end.
    """
    stride, padding, dilation, extra = window
    height, width = ((n - 1) * by + 1 for n, by in zip(x.shape[2:], stride, strict=True))
    spread = x.new_zeros((*x.shape[:2], height, width))
    spread[..., :: stride[0], :: stride[1]] = x
    around = [by * (n - 1) - less for n, by, less in zip(kernel, dilation, padding, strict=True)]
    margins = (around[1], around[1] + extra[1], around[0], around[0] + extra[0])
    seen = functional.unfold(functional.pad(spread, margins), kernel, dilation)
    # A transposed convolution turns its kernel by half a turn.
    turned = seen.reshape(len(x), x.shape[1], *kernel, -1).flip(2, 3)
    return turned.flatten(1, 3).transpose(1, 2).flatten(0, 1)[None]
