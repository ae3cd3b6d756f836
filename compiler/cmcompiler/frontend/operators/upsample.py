"""aten::upsample_bilinear2d in int8 or int16, as cmbuild::quantized_upsample_bilinear2d."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import QuantizedCall, Replacement, SameAs, quantized_op

LIBRARY: Any = torch.library.Library(  # type: ignore[no-untyped-call]
    "cmbuild", "FRAGMENT"
)

declare(LIBRARY, "quantized_upsample_bilinear2d")
LIBRARY.define(
    "short_upsample_bilinear2d(Tensor x, int[] size, bool align_corners, float[]? factors) "
    "-> Tensor"
)


def _result(image: Tensor, size: Sequence[int], *_: object) -> Tensor:
    shape = (*image.shape[:2], *size)
    return torch.empty(shape, dtype=image.dtype, memory_format=torch.channels_last)


for _name in ("short", "quantized"):
    torch.library.register_fake(f"cmbuild::{_name}_upsample_bilinear2d", _result)


@float_form(LIBRARY, "short_upsample_bilinear2d")
def upsample_bilinear2d(
    x: Tensor, size: Sequence[int], align_corners: bool, factors: Sequence[float] | None
) -> Tensor:
    sizes = (None, factors) if factors is not None else (list(size), None)
    made: Tensor = torch.ops.aten.upsample_bilinear2d.vec(x, sizes[0], align_corners, sizes[1])
    return made.contiguous(memory_format=torch.channels_last)


@quantized_op(torch.ops.aten.upsample_bilinear2d.vec, output=SameAs(0))
def to_quantized_upsample_bilinear2d(call: QuantizedCall) -> Replacement:
    """Factors matter beside the size, as torch interpolates with what it is given."""
    image, *rest = call.arguments
    arguments = image, *resized(image.meta["val"], *rest)  # type: ignore[union-attr]
    return torch.ops.cmbuild.quantized_upsample_bilinear2d.default, arguments


@quantized_op(torch.ops.cmbuild.short_upsample_bilinear2d.default, output=SameAs(0), is_short=True)
def to_short_upsample_bilinear2d(call: QuantizedCall) -> Replacement:
    return torch.ops.cmbuild.quantized_upsample_bilinear2d.default, call.arguments


def resized(
    image: Tensor, size: Any, align_corners: Any, factors: Any = None
) -> tuple[list[int], bool, Any]:
    """The size, whether corners are aligned, and the factors if there are any."""
    if size is None:
        size = [int(each * factor) for each, factor in zip(image.shape[2:], factors, strict=True)]
    return size, align_corners, factors
