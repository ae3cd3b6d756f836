"""Layers get the kernel that can make their outputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cmcompiler.isa import Isa
from cmcompiler.ops.support import packing
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.requantize import Requantize, Rounding


def filters(shift: int = -8, maximum: int = 127, zero_point: int = 3) -> Filters:
    requantize = Requantize.checked(
        [1 << 30], [shift], 4, zero_point=zero_point, minimum=-128, maximum=maximum
    )
    return Filters.of(np.ones((4, 16), np.int8), np.zeros(4, np.int32), requantize)


@pytest.mark.parametrize(
    ("isa", "layer", "suffix"),
    [
        (Isa.MVE, filters(), ""),
        (Isa.MVE, filters(shift=-1), ""),
        (Isa.MVE, filters(shift=1), "_general"),
        (Isa.MVE, filters(maximum=100), "_clamped"),
        (Isa.DSP, filters(), ""),
        (Isa.DSP, filters(shift=-1), "_general"),
        (Isa.DSP, filters(maximum=100), "_clamped"),
        (Isa.SCALAR, filters(shift=1), ""),
        (Isa.SCALAR, filters(maximum=100), ""),
    ],
)
def test_what_shortcuts_cannot_make_has_kernels_of_its_own(
    isa: Isa, layer: Filters, suffix: str
) -> None:
    assert packing.gemm(layer, isa) == (suffix, packing.GEMM)
    assert packing.gemv(layer, isa) == (suffix, packing.GEMV)
    wide = "_w16" if isa is Isa.DSP else ""
    assert packing.gemm(layer, isa, wide=True)[0] == wide + suffix
    assert packing.product(layer, isa) == suffix.replace("_clamped", "")


@pytest.mark.parametrize(
    ("isa", "zero_point", "suffix"),
    [
        (Isa.MVE, -128, "_half_up"),
        (Isa.MVE, 3, ""),
        (Isa.DSP, -128, ""),
        (Isa.SCALAR, -128, ""),
    ],
)
def test_outputs_that_round_half_up_have_products_of_their_own_with_helium(
    isa: Isa, zero_point: int, suffix: str
) -> None:
    layer = filters(zero_point=zero_point)
    assert packing.gemm(layer, isa) == (suffix, packing.GEMM)
    assert packing.gemv(layer, isa) == ("", packing.GEMV)


@pytest.mark.parametrize("odd", ["dead", "saturated", "left", "far", "small"])
def test_constant_channels_do_not_bar_a_layer_from_fast_roundings(odd: str) -> None:
    """Whatever their scale is, the outputs of all channels stay the same."""
    random = np.random.default_rng(len(odd))
    found = []
    for _ in range(100):
        weights = random.integers(-127, 128, (6, 9)).astype(np.int8)
        bias = random.integers(-20000, 20000, 6).astype(np.int32)
        multipliers = random.integers(1 << 30, (1 << 31) - 1, 6)
        shifts = random.integers(-12, -5, 6)
        match odd:
            case "dead":
                weights[2], bias[2], shifts[2] = 0, 1 << 30, -31
            case "saturated":
                bias[2] = random.choice((-1, 1)) << 29
            case "left":
                shifts[2] = random.integers(0, 20)
            case "far":
                weights[2], bias[2], shifts[2] = 0, random.integers(1 << 31), -25
            case "small":
                weights[2], multipliers[2] = 0, random.integers(1, 1 << 30)
        low = int(random.integers(-128, 100))
        given = Requantize.checked(
            multipliers.tolist(),
            shifts.tolist(),
            6,
            zero_point=int(random.integers(-128, 128)),
            minimum=low,
            maximum=int(random.integers(low, 128)),
        )
        filters = Filters.of(weights, bias, given)
        inputs = random.integers(-128, 128, (40, 9))
        inputs[:6] = np.where(weights > 0, 127, -128)
        inputs[6:12] = np.where(weights > 0, -128, 127)
        packed = replace(
            given, multipliers=tuple(filters.multipliers), shifts=tuple(filters.shifts)
        )
        np.testing.assert_array_equal(
            packed(inputs @ filters.weights.T.astype(np.int64) + filters.bias),
            given(inputs @ weights.T.astype(np.int64) + bias),
        )
        found.append(filters.rounding is not Rounding.GENERAL)
    # A large shift to the left may leave a channel that varies.
    assert all(found) or odd == "left"
