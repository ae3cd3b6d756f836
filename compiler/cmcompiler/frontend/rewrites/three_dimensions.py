"""Operators on volumes [N, C, D, H, W] by operators on images.

A convolution sees each of its slices as channels of an image; a pool has one image of all slices,
and then one of all rows.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import (
    constant,
    constant_value,
    fake,
    insert,
    insert_named,
    is_constant,
    named_arguments,
    replace,
)
from cmcompiler.frontend.rewrites.followers import ACTIVATIONS, repeat_followers
from cmcompiler.frontend.rewrites.traced import written

aten = torch.ops.aten

_FOLLOWERS = {*ACTIVATIONS, aten.batch_norm.default}


def compute_volumes_on_images(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        source = node.args[0] if node.args else None
        if not isinstance(source, Node) or not hasattr(fake(source), "dim"):
            continue
        if fake(source).dim() != 5:
            continue
        if node.target is aten.conv3d.default and is_constant(node.args[1]):
            _replace_convolution(node)
        elif node.target is aten.max_pool3d.default:
            replace(node, _pooled(node, aten.max_pool2d.default))
        elif node.target is aten.avg_pool3d.default and _is_mean_of_means(node):
            replace(node, _pooled(node, aten.avg_pool2d.default))
        elif node.target is aten.adaptive_avg_pool3d.default and set(fake(node).shape[2:]) == {1}:
            replace(node, insert(node, aten.mean.dim, source, [2, 3, 4], True))
        elif node.target is aten.batch_norm.default:
            replace(node, _normalized(node, source))
    module.graph.eliminate_dead_code()


def _triple(value: Any) -> list[int]:
    return [value] * 3 if isinstance(value, int) else [*value] * (3 // len(value))


def _replace_convolution(node: Node) -> None:
    given = named_arguments(node)
    depth, *stride = _triple(given["stride"])
    margin, *padding = _triple(given["padding"])
    gap, *dilation = _triple(given["dilation"])
    groups = given["groups"]
    weight = constant_value(given["weight"])
    outputs, per_group, taps, *kernel = weight.shape
    batch, channels, _, height, width = fake(given["input"]).shape
    slices = fake(node).shape[2]
    shape = [batch * slices, taps * channels, height, width]
    flat = weight.transpose(1, 2).reshape(outputs, taps * per_group, *kernel)

    def image(volume: Any) -> Any:
        volume = _with_margin(volume, margin)
        parts = []
        for tap in range(taps):
            first = tap * gap
            part = volume.slice(2, first, first + (slices - 1) * depth + 1, depth)
            split = [batch * slices, groups, channels // groups, height, width]
            parts.append(part.transpose(1, 2).reshape(split))
        joined = torch.cat(parts, 2) if taps > 1 else parts[0]
        return joined.reshape(shape)

    made = insert_named(
        node,
        aten.conv2d.default,
        {
            "input": written(node, image, given["input"]),
            "weight": constant(node, f"{node.name}_slices", flat),
            "bias": given["bias"],
            "stride": stride,
            "padding": padding,
            "dilation": dilation,
            "groups": groups,
        },
    )
    last, made = repeat_followers(node, made, _FOLLOWERS)
    split = [batch, slices, outputs, *fake(made).shape[2:]]
    replace(last, written(last, lambda image: image.reshape(split).transpose(1, 2), made))


def _with_margin(volume: Any, margin: int) -> Any:
    """Zeros before the first slice and after the last."""
    if not margin:
        return volume
    batch, channels, depth, height, width = volume.shape
    image = volume.reshape([batch, channels, depth, height * width])
    padded = image.constant_pad_nd([0, 0, margin, margin])
    return padded.reshape([batch, channels, depth + 2 * margin, height, width])


def _is_mean_of_means(node: Node) -> bool:
    given = named_arguments(node)
    is_whole = given["count_include_pad"] or not any(_triple(given["padding"]))
    return is_whole and not given["ceil_mode"] and given["divisor_override"] is None


def _pooled(node: Node, pool: OpOverload) -> Node:
    given = named_arguments(node)
    kernel = _triple(given["kernel_size"])
    sizes = {
        "kernel_size": kernel,
        "stride": _triple(given["stride"]) if given["stride"] else kernel,
        "padding": _triple(given["padding"]),
        "dilation": _triple(given.get("dilation", 1)),
    }
    others = {"ceil_mode": given["ceil_mode"]}
    volume: Node = given["self"]
    batch, channels, depth, height, width = fake(volume).shape
    image = insert(node, aten.reshape.default, volume, [batch, channels * depth, height, width])
    inner = {name: size[1:] for name, size in sizes.items()}
    image = insert_named(node, pool, {"self": image, **inner, **others})
    high, wide = fake(image).shape[2:]
    image = insert(node, aten.reshape.default, image, [batch, channels, depth, high * wide])
    outer = {name: [size[0], 0 if name == "padding" else 1] for name, size in sizes.items()}
    image = insert_named(node, pool, {"self": image, **outer, **others})
    return insert(node, aten.reshape.default, image, list(fake(node).shape))


def _normalized(node: Node, volume: Node) -> Node:
    batch, channels, depth, height, width = fake(volume).shape

    def norm(volume: Any, *rest: Any, **named: Any) -> Any:
        image = volume.reshape([batch, channels, depth * height, width])
        return aten.batch_norm.default(image, *rest, **named).reshape(list(fake(node).shape))

    made: Node = written(node, norm, volume, *node.args[1:], **node.kwargs)
    return made
