"""Bounds of channels, and tensors of some of them."""

from __future__ import annotations

import numpy as np

from cmcompiler.ir.channels import Bounds, Channels, restricted
from cmcompiler.ir.tensor import Tensor

INT8 = np.dtype(np.int8)


def test_bounds_of_a_constant_are_those_of_its_data() -> None:
    data = np.array([[1, -5, 7], [1, 3, 7]], np.int8)
    bounds = Bounds.of(Tensor("table", INT8, data.shape, data))
    assert (bounds.least.tolist(), bounds.most.tolist()) == ([1, -5, 7], [1, 3, 7])
    assert bounds.constant.tolist() == [True, False, True]


def test_an_input_may_hold_anything() -> None:
    bounds = Bounds.of(Tensor("input", INT8, (4, 2)))
    assert (bounds.least.tolist(), bounds.most.tolist()) == ([-128] * 2, [127] * 2)


def test_constants_are_not_computed() -> None:
    bounds = Bounds(np.array([0, 1, 2]), np.array([0, 5, 2]))
    kept = np.array([True, True, False])
    assert Channels(bounds, kept).computed.tolist() == [False, True, False]


def test_a_restricted_tensor_has_the_kept_channels() -> None:
    data = np.arange(6, dtype=np.int8).reshape(2, 3)
    tensor = Tensor("table", INT8, data.shape, data)
    assert restricted(tensor, np.ones(3, np.bool_)) is tensor
    some = restricted(tensor, np.array([True, False, True]))
    assert some.shape == (2, 2)
    assert some.data is not None
    assert some.data.tolist() == [[0, 2], [3, 5]]
