"""Layers get the kernel that can make their outputs."""

from __future__ import annotations

import numpy as np
import pytest

from cmcompiler.isa import Isa
from cmcompiler.ops.support import packing
from cmcompiler.ops.support.packing import Filters
from cmcompiler.ops.support.requantize import Requantize


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
        (Isa.MVE, filters(maximum=100), "_general"),
        (Isa.DSP, filters(), ""),
        (Isa.DSP, filters(shift=-1), "_general"),
        (Isa.DSP, filters(maximum=100), "_general"),
        (Isa.SCALAR, filters(shift=1), ""),
    ],
)
def test_what_shortcuts_cannot_make_has_kernels_of_its_own(
    isa: Isa, layer: Filters, suffix: str
) -> None:
    assert packing.gemm(layer, isa) == (suffix, packing.GEMM)
    assert packing.gemv(layer, isa) == (suffix, packing.GEMV)
    wide = "_w16" if isa is Isa.DSP else ""
    assert packing.gemm(layer, isa, wide=True)[0] == wide + suffix


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
