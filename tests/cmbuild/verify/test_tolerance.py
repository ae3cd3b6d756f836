"""What counts as the same output, and what does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cmbuild.verify.tolerance import count, differences, mismatches


def float32(*values: float) -> npt.NDArray[np.float32]:
    return np.array(values, np.float32)


def nan(bits: int) -> npt.NDArray[np.float32]:
    array = np.array([bits], np.uint32).view(np.float32)
    assert np.isnan(array).all()
    return array


@pytest.mark.parametrize("exact", [True, False])
def test_a_nan_is_as_good_as_another_and_no_number_is(exact: bool) -> None:
    quiet, negative, signalling = nan(0x7FC00000), nan(0xFFC01234), nan(0x7F800001)
    assert mismatches(negative, quiet, exact) == 0
    assert mismatches(signalling, quiet, exact) == 0
    assert mismatches(float32(np.inf), quiet, exact) == 1
    assert mismatches(quiet, float32(0), exact) == 1


def test_zeros_of_other_sign_differ_to_the_bit_and_not_within_tolerance() -> None:
    assert mismatches(float32(0.0), float32(-0.0), exact=True) == 1
    assert mismatches(float32(0.0), float32(-0.0), exact=False) == 0


def test_tolerance_is_relative_for_floats_and_a_step_for_integers() -> None:
    reference = float32(1, 1, 1e30, np.inf)
    actual = float32(1.000009, 1.00002, np.inf, np.inf)
    assert differences(actual, reference, exact=False).tolist() == [False, True, True, False]
    assert differences(actual, reference, exact=True).tolist() == [True, True, True, False]
    quantised = np.array([-128, 0, 127], np.int8)
    off = np.array([-127, 2, 127], np.int8)
    assert differences(off, quantised, exact=False).tolist() == [False, True, False]
    assert differences(off, quantised, exact=True).tolist() == [True, True, False]


@pytest.mark.parametrize("array", [np.array(True), np.array([True, False])])
def test_booleans_have_no_tolerance(array: npt.NDArray[Any]) -> None:
    assert mismatches(~array, array, exact=False) == array.size


def test_shapes_without_dimensions_and_without_elements() -> None:
    assert mismatches(np.array(1.5), np.array(2.5), exact=True) == 1
    empty = np.zeros((2, 0), np.float32)
    assert mismatches(empty, empty, exact=True) == 0
    with pytest.raises(ValueError, match="float32"):
        mismatches(empty, empty.T, exact=True)


def test_elements_of_all_outputs_count() -> None:
    zeros = np.zeros(3, np.int8)
    assert count([zeros, zeros], [zeros + 1, zeros - 1], [True, False]) == 3
