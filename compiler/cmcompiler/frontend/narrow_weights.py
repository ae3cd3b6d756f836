"""Weights of four bits: which layers get them, and the step of each channel.

Importing it imports torch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from cmcompiler.frontend.chosen_precision import is_named, precision_of
from cmcompiler.frontend.narrow_observers import (
    OBSERVERS,
    GroupedPerChannelObserver,
    NarrowPerChannelObserver,
)
from cmcompiler.frontend.precision import GROUPS, NIBBLES, Patterns
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    is_constant,
    named_arguments,
)
from cmcompiler.ops.support.nibbles import FEWEST, LARGEST

BYTE = 127
"""The largest int8 weight."""

_TRANSPOSED = torch.ops.aten.conv_transpose2d.input


def narrow_weights(graph: Graph, patterns: Patterns) -> None:
    """Makes the weights of chosen layers four bits wide, with a scale for each output channel.

    Weights of very small layers stay bytes, and of depthwise ones that no pattern names: four bits
    cost these more accuracy than others.

    Args:
        graph: annotated.
    """
    for node in graph.nodes:
        precision = precision_of(node, patterns)
        if precision not in (NIBBLES, *GROUPS) or not _can_be_narrow(node, patterns):
            continue
        specs: dict[Any, Any] = node.meta[Q_ANNOTATION_KEY].input_qspec_map
        weight, bias = (named_arguments(node)[name] for name in ("weight", "bias"))
        size = GROUPS.get(precision, 0)
        is_grouped = bool(size) and _has_groups(node, constant_value(weight), size)
        # Weights in groups are int8 numbers of a channel's step.
        largest = BYTE if is_grouped else LARGEST
        specs[weight] = replace(
            specs[weight],
            observer_or_fake_quant_ctr=OBSERVERS[size] if is_grouped else NarrowPerChannelObserver,
            quant_min=-largest,
            quant_max=largest,
            qscheme=torch.per_channel_symmetric,
            ch_axis=channel_axis(node),
        )
        if bias in specs:
            per_channel = {"qscheme": torch.per_channel_symmetric, "ch_axis": 0}
            specs[bias] = replace(specs[bias], **per_channel)


def _can_be_narrow(node: Node, patterns: Patterns) -> bool:
    """Whether a node is a quantised layer whose weights flash is to hold in four bits."""
    annotation = node.meta.get(Q_ANNOTATION_KEY)
    if node.target not in LAYERS or annotation is None or not annotation._annotated:
        return False
    given = named_arguments(node)
    weight = given["weight"]
    if not is_constant(weight) or weight not in annotation.input_qspec_map:
        return False
    value = constant_value(weight)
    if is_depthwise(node, value) and is_named(node, patterns):
        return value.numel() >= FEWEST
    return is_worth_it(node, value)


def is_worth_it(layer: Node, weight: Tensor) -> bool:
    """Whether flash holds the weights of a layer in four bits without being asked to."""
    return layer.target in LAYERS and weight.numel() >= FEWEST and not is_depthwise(layer, weight)


def is_depthwise(layer: Node, weight: Tensor) -> bool:
    """Whether a convolution has groups of one channel each."""
    return int(named_arguments(layer).get("groups", 1)) > 1 and weight.shape[1] == 1


def _has_groups(layer: Node, weight: Tensor, size: int) -> bool:
    """Whether there are several groups of columns, which stay together where windows turn."""
    if layer.target is _TRANSPOSED:
        return False
    depth, channels = weight[0].numel(), weight.shape[1]
    return depth > size and (depth == channels or channels % size == 0)


def channel_axis(layer: Node) -> int:
    """The dimension of a layer's weights that has a step of its own for each place."""
    return 1 if layer.target is _TRANSPOSED else 0


def hold_groups(prepared: GraphModule) -> None:
    """Rounds weights in groups before conversion, which knows a step for each channel only."""
    if not any(isinstance(each, GroupedPerChannelObserver) for each in prepared.modules()):
        return
    for node in list(prepared.graph.nodes):
        weight = node.args[1] if node.target in LAYERS else None
        if not isinstance(weight, Node) or weight.op != "call_module":
            continue
        observer = prepared.get_submodule(str(weight.target))
        value = weight.args[0]
        if isinstance(value, Node) and isinstance(observer, GroupedPerChannelObserver):
            held = observer.rounded(constant_value(value))
            weight.args = (constant(weight, f"{node.name}_in_groups", held),)
    prepared.graph.eliminate_dead_code()
    prepared.recompile()
