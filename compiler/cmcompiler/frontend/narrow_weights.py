"""Weights of four bits: which layers get them, and the step of each channel.

Importing it imports torch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, Node
from torchao.quantization.pt2e import PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from cmcompiler.frontend.chosen_precision import precision_of
from cmcompiler.frontend.precision import NIBBLES, Patterns
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.editing import constant_value, is_constant, named_arguments
from cmcompiler.ops.support.nibbles import FEWEST, LARGEST

_TRANSPOSED = torch.ops.aten.conv_transpose2d.input

_CLIPPED = [1 - 0.04 * n for n in range(13)]
"""Shares of a channel's largest weight that may become the largest of four bits."""


class NarrowPerChannelObserver(PerChannelMinMaxObserver):  # type: ignore[misc]
    """Finds the range of each channel that rounding to four bits changes least.

    Clipping the few largest weights makes the steps of all others smaller. Preparation tells by the
    name that the class takes an axis.
    """

    min_val: Tensor
    max_val: Tensor
    _most: Tensor

    def forward(self, x_orig: Tensor) -> Tensor:
        x = x_orig.detach().movedim(self.ch_axis, 0).flatten(1)
        most = x.abs().amax(1)
        # Calibration shows the same weights with every sample.
        if self.min_val.numel() == 0 or not torch.equal(most, self._most):
            largest = _least_changed(x, most)
            self._most = most
            self.min_val, self.max_val = -largest, largest
        return x_orig


def _least_changed(x: Tensor, most: Tensor) -> Tensor:
    """The range of each row with the least squared error."""
    best, found = torch.full_like(most, torch.inf), most
    for share in _CLIPPED:
        step = (share * most / LARGEST).clamp(min=1e-30)[:, None]
        error = ((x / step).round().clamp(-LARGEST, LARGEST) * step - x).square().sum(1)
        found = torch.where(error < best, share * most, found)
        best = torch.minimum(best, error)
    return found


def narrow_weights(graph: Graph, patterns: Patterns) -> None:
    """Makes the weights of chosen layers four bits wide, with a scale for each output channel.

    Weights that stay bytes in flash stay so here: of depthwise layers, and of very small ones.

    Args:
        graph: annotated.
    """
    for node in graph.nodes:
        if precision_of(node, patterns) != NIBBLES or not _can_be_narrow(node):
            continue
        specs: dict[Any, Any] = node.meta[Q_ANNOTATION_KEY].input_qspec_map
        weight, bias = (named_arguments(node)[name] for name in ("weight", "bias"))
        specs[weight] = replace(
            specs[weight],
            observer_or_fake_quant_ctr=NarrowPerChannelObserver,
            quant_min=-LARGEST,
            quant_max=LARGEST,
            qscheme=torch.per_channel_symmetric,
            ch_axis=channel_axis(node),
        )
        if bias in specs:
            per_channel = {"qscheme": torch.per_channel_symmetric, "ch_axis": 0}
            specs[bias] = replace(specs[bias], **per_channel)


def _can_be_narrow(node: Node) -> bool:
    """Whether a node is a quantised layer whose weights flash can hold in four bits."""
    annotation = node.meta.get(Q_ANNOTATION_KEY)
    if node.target not in LAYERS or annotation is None or not annotation._annotated:
        return False
    given = named_arguments(node)
    weight = given["weight"]
    if not is_constant(weight) or weight not in annotation.input_qspec_map:
        return False
    return is_worth_it(node, constant_value(weight))


def is_worth_it(layer: Node, weight: Tensor) -> bool:
    """Whether flash holds the weights of a layer in four bits."""
    is_depthwise = int(named_arguments(layer).get("groups", 1)) > 1 and weight.shape[1] == 1
    return layer.target in LAYERS and weight.numel() >= FEWEST and not is_depthwise


def channel_axis(layer: Node) -> int:
    """The dimension of a layer's weights that has a step of its own for each place."""
    return 1 if layer.target is _TRANSPOSED else 0


def rounded_to_nibbles(weight: Tensor, axis: int) -> Tensor:
    """Weights after rounding to four bits, as `NarrowPerChannelObserver` chooses the steps."""
    rows = weight.detach().movedim(axis, 0).flatten(1)
    step = (_least_changed(rows, rows.abs().amax(1)) / LARGEST).clamp(min=1e-30)
    steps = step.reshape([-1 if place == axis else 1 for place in range(weight.ndim)])
    return (weight / steps).round().clamp(-LARGEST, LARGEST) * steps
