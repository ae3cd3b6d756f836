"""Instructions, roughly, of matrix products around those for their rows."""

from __future__ import annotations

from collections.abc import Mapping

from cmcompiler.ir.op import Word
from cmcompiler.isa import Isa
from cmcompiler.plan.streams.costs.rates import RATES, Product

VECTOR = 16
"""Bytes of a strip's pixel that are copied at once."""


def call_cost(words: Mapping[str, Word], isa: Isa) -> float:
    """Of a convolution over pixels."""
    (depth,) = _sizes(words, "depth")
    return _call(RATES[isa].product_of(depth), words)


def batch_cost(words: Mapping[str, Word], isa: Isa) -> float:
    """Of one over patches, with gathering these but for their bytes."""
    (depth,) = _sizes(words, "patch_stride")
    product = RATES[isa].product_of(depth)
    return _call(product, words) + product.batch


def strip_cost(words: Mapping[str, Word], isa: Isa) -> float:
    """Of a convolution over a strip of columns, with copying it but for its pixels."""
    height, width, channels = _sizes(words, "kernel_height", "kernel_width", "input.channels")
    product = RATES[isa].product_of(height * width * channels)
    return _call(product, words) + height * RATES[isa].strip


def strip_pixels_cost(words: Mapping[str, Word], isa: Isa) -> float:
    """Of copying the pixels of a row of windows."""
    outputs, stride = _sizes(words, "output.width", "stride_width")
    height, width, channels = _sizes(words, "kernel_height", "kernel_width", "input.channels")
    columns = (outputs - 1) * stride + width
    return columns * height * -(-channels // VECTOR) * RATES[isa].copied


def _call(product: Product, words: Mapping[str, Word]) -> float:
    (columns,) = _sizes(words, "output.channels")
    return product.call + columns * product.column


def _sizes(words: Mapping[str, Word], *names: str) -> list[int]:
    found = [words[name] for name in names]
    return [int(word) for word in found if isinstance(word, int)]
