"""Gives means over whole images a range of their own. Importing it imports torch.

The quantizer has a pool share the range of its image. Its results, means of many elements, may be
much closer together, and then differ by few of the 255 steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.own_ranges import GroupPart, GroupWatch, RangeChange
from cmcompiler.frontend.rewrites.editing import fake, named_arguments
from cmcompiler.frontend.rewrites.reductions import IMAGE_DIMS

_ATEN = torch.ops.aten

_POOLS = {
    *(_ATEN.adaptive_avg_pool2d.default, _ATEN.avg_pool2d.default),
    _ATEN.mean.dim,
}


def image_means(prepared: GraphModule, watch: GroupWatch) -> Iterator[GroupPart]:
    """The results of each pool of one window that share the range of its image alone."""
    for node in list(prepared.graph.nodes):
        image = node.all_input_nodes[0] if node.target in _POOLS else None
        if image is not None and image.op == "call_module" and _is_whole(node):
            part = watch.part(image, node, is_after=True)
            if part is not None:
                yield part


def separate_means(means: Sequence[GroupPart]) -> RangeChange:
    """Gives the means the ranges that their observers found."""
    made = RangeChange()
    for part in means:
        made.give_own_range(part)
        pool, keepdim = part.user, fake(part.user).ndim == 4
        made.call(pool, torch.ops.cmbuild.mean.default, part.source, IMAGE_DIMS, keepdim)
    return made


def _is_whole(pool: Node) -> bool:
    """Whether the results are means over the rows and columns of an image."""
    (observed,) = pool.all_input_nodes
    while observed.op == "call_module":  # two of them where int16 numbers become int8
        (observed,) = observed.all_input_nodes
    image, given = fake(observed), named_arguments(pool)
    if pool.target is _ATEN.mean.dim:
        dims = sorted(dim % image.ndim for dim in given["dim"] or range(image.ndim))
        return image.ndim == 4 and dims == IMAGE_DIMS and given["dtype"] is None
    if image.ndim != 4 or prod(fake(pool).shape[2:]) != 1:
        return False
    return pool.target is not _ATEN.avg_pool2d.default or (
        given["divisor_override"] is None
        and not any(given["padding"])
        and tuple(given["kernel_size"]) == tuple(image.shape[2:])
    )
