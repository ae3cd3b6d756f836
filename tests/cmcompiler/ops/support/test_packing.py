"""Layers get the kernel that can make their outputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cmcompiler.isa import Isa
from cmcompiler.ops.support import packing
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.requantize import Requantize, Rounding


def filters(shift: int = -8, maximum: int = 127, zero_point: int = 3, depth: int = 48) -> Filters:
    requantize = Requantize.checked(
        [1 << 30], [shift], 4, zero_point=zero_point, minimum=-128, maximum=maximum
    )
    return Filters.of(np.ones((4, depth), np.int8), np.zeros(4, np.int32), requantize)


@pytest.mark.parametrize(
    ("isa", "layer", "suffix"),
    [
        (Isa.MVE, filters(shift=1), "_general"),
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
        (Isa.MVE, -128, "_deep_half_up"),
        (Isa.MVE, 3, "_deep"),
        (Isa.DSP, -128, ""),
        (Isa.SCALAR, -128, ""),
    ],
)
def test_outputs_that_round_half_up_have_products_of_their_own_with_helium(
    isa: Isa, zero_point: int, suffix: str
) -> None:
    layer = filters(zero_point=zero_point)
    assert packing.gemm(layer, isa)[0] == suffix
    clamped = filters(zero_point=zero_point, maximum=100)
    if isa is not Isa.SCALAR:
        assert packing.gemm(clamped, isa)[0] == f"{suffix}_clamped"
    assert packing.gemv(layer, isa) == ("", packing.GEMV)


@pytest.mark.parametrize(
    ("depth", "stride", "suffix"),
    [
        (8, 8, "_shallow_dense_half_up"),
        (16, 16, "_shallow_dense_half_up"),
        (16, 32, "_shallow_half_up"),
        (17, 32, "_shallow_dense_half_up"),
        (32, 0, "_shallow_half_up"),
        (33, 33, "_deep_half_up"),
        (64, 64, "_dense_64_half_up"),
        (49, 64, "_dense_64_half_up"),
        (48, 64, "_deep_half_up"),
        (64, 128, "_deep_half_up"),
        (128, 128, "_dense_128_half_up"),
    ],
)
def test_kernels_with_helium_have_loops_for_their_depths_alone(
    depth: int, stride: int, suffix: str
) -> None:
    layer = filters(zero_point=-128, depth=depth)
    assert packing.gemm(layer, Isa.MVE, stride=stride)[0] == suffix
    assert packing.gemm(layer, Isa.DSP, stride=stride) == ("", packing.GEMM)
    depths = "_shallow" if depth <= 32 else "_deep"
    assert packing.product(layer, Isa.MVE) == f"{depths}_half_up"
    right = filters(depth=depth)
    is_one = 8 < depth <= 16 == stride
    assert packing.gemm(right, Isa.MVE, stride=stride)[0] == depths + ("_dense" if is_one else "")


@pytest.mark.parametrize(
    ("depth", "stride", "depths"), [(64, 64, "_64"), (113, 400, "_128"), (48, 48, ""), (64, 0, "")]
)
def test_weights_of_four_bits_have_loops_for_their_depths_with_helium(
    depth: int, stride: int, depths: str
) -> None:
    layer = replace(filters(zero_point=-128, depth=depth), is_narrow=True)
    assert packing.gemm(layer, Isa.MVE, stride=stride)[0] == f"_w4{depths}_half_up"
    assert packing.gemm(layer, Isa.DSP, stride=stride)[0] == "_w4"
    unpacked = replace(layer, weights=np.full_like(layer.weights, -8))
    assert packing.gemm(unpacked, Isa.MVE, stride=stride)[0] == "_w4_half_up"


@pytest.mark.parametrize("odd", ["dead", "saturated", "left", "far", "small"])
def test_constant_channels_do_not_bar_a_layer_from_fast_roundings(odd: str) -> None:
    """Whatever their scale is, the outputs of all channels stay the same."""
    random = np.random.default_rng(len(odd))
    collected = []
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
        collected.append(filters.rounding is not Rounding.GENERAL)
    # A large shift to the left may leave a channel that varies.
    assert all(collected) or odd == "left"


@pytest.mark.parametrize(
    ("weights", "bias", "suffix"),
    [
        (np.full((4, 512), 127), 0, ""),
        (np.full((4, 520), 127), 0, "_apart"),
        (np.full((4, 16), -127), 1 << 22, ""),
        (np.full((4, 16), -127), 1 << 23, "_apart"),
        (-np.eye(4, 16) * 128, 0, ""),
        (np.full((4, 2), -128), 0, "_apart"),
    ],
)
def test_products_of_pairs_of_bytes_are_exact_or_of_bytes_apart(
    weights: np.ndarray[tuple[int, ...], np.dtype[np.float64]], bias: int, suffix: str
) -> None:
    layer = replace(
        filters(), weights=weights.astype(np.int8), bias=np.full(len(weights), bias, np.int32)
    )
    assert packing.gemm(layer, Isa.DSP)[0] == packing.product(layer, Isa.DSP) == suffix
    depths = "_shallow" if weights.shape[1] <= 32 else "_deep"
    assert packing.gemv(layer, Isa.DSP)[0] == ""
    assert packing.gemm(layer, Isa.MVE)[0] == depths
    assert len(packing.gemm_weights(layer, Isa.DSP)) == 2 * (32 + 2 * -(-weights.shape[1] // 4) * 4)


def test_pairs_of_channels_are_parted_into_their_sums() -> None:
    """As isa/dsp/gemm_s8.c does it with one row, first channels turned or not."""
    random = np.random.default_rng(5)
    weights = random.integers(-127, 128, (4, 16)).astype(np.int8)
    weights[[0, 2], [3, 4]] = -128
    weights[[1, 3], [3, 4]] = [-1, 0]
    layer = replace(filters(), weights=weights, bias=random.integers(-(1 << 20), 1 << 20, 4))
    row = random.integers(-128, 128, 16)
    blocks = np.frombuffer(packing.gemm_weights(layer, Isa.DSP), "<i4").reshape(2, -1)
    pairs = np.ascontiguousarray(blocks[:, 4:-4]).view("<i2").reshape(2, 4, 2, 2)
    pairs = pairs.swapaxes(2, 3).reshape(2, 16).astype(np.int64)
    second = pairs.astype(np.int8) @ row + blocks[:, 3]
    both = (pairs @ row + blocks[:, 1] - second).astype(np.int32)
    sums = np.stack([-(both & 1) ^ both >> 8, second], axis=1).reshape(-1)
    np.testing.assert_array_equal(sums, weights.astype(np.int64) @ row + layer.bias)
