"""aten::upsample_bilinear2d in int8, as cmbuild::quantized_upsample_bilinear2d."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import QuantizedCall, Replacement, SameAs, quantized_op

LIBRARY: Any = torch.library.Library(  # type: ignore[no-untyped-call]
    "cmbuild", "FRAGMENT"
)

declare(LIBRARY, "quantized_upsample_bilinear2d")


def _result(image: Tensor, size: Sequence[int], *_: object) -> Tensor:
    shape = (*image.shape[:2], *size)
    return torch.empty(shape, dtype=image.dtype, memory_format=torch.channels_last)


torch.library.register_fake("cmbuild::quantized_upsample_bilinear2d", _result)


@quantized_op(torch.ops.aten.upsample_bilinear2d.vec, output=SameAs(0))
def to_quantized_upsample_bilinear2d(call: QuantizedCall) -> Replacement:
    """Factors matter beside the size, as torch interpolates with what it is given."""
    given: Sequence[Any] = call.arguments
    image, size, align_corners, factors = (*given, None)[:4]
    if size is None:
        shape = image.meta["val"].shape[2:]
        size = [int(length * factor) for length, factor in zip(shape, factors, strict=True)]
    arguments = (image, size, align_corners, factors)
    return torch.ops.cmbuild.quantized_upsample_bilinear2d.default, arguments
