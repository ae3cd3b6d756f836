"""Ranges of int16 tensors."""

from __future__ import annotations

import pytest
import torch
from torch.fx import Graph

from cmcompiler.frontend.short_observer import ShortObserver, largest_result


def observed(most: float | None, *numbers: float) -> float:
    """The largest number of the range."""
    observer = ShortObserver(
        dtype=torch.int16,
        qscheme=torch.per_tensor_symmetric,
        quant_min=-32767,
        quant_max=32767,
        most=most,
    )
    observer(torch.tensor(numbers))
    return float(observer.calculate_qparams()[0]) * 32767


def test_ranges_end_at_what_no_number_exceeds() -> None:
    assert observed(6.0, 0.0, 5.0) == pytest.approx(6)
    assert observed(6.0, 0.0, 2.0) == pytest.approx(4, rel=1e-4)
    assert observed(6.0, 0.0, 6.0) == pytest.approx(6, rel=1e-4)


@pytest.mark.parametrize(
    ("expression", "most"),
    [
        ("sigmoid.default(x)", 1.0),
        ("tanh.default(x)", 1.0),
        ("mul.Tensor(sin.default(x), 3.0)", 3.0),
        ("gelu.default(x)", None),
        ("log.default(x)", None),
        ("reciprocal.default(x)", None),
    ],
)
def test_functions_that_end(expression: str, most: float | None) -> None:
    graph = Graph()
    x = graph.placeholder("x")
    node = graph.call_function(torch.ops.cmbuild.short_function.default, (x, expression))
    largest = largest_result(node)
    assert largest == (None if most is None else pytest.approx(most, rel=1e-3))


def test_layers_that_end() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    clamp = torch.ops.cmbuild.short_clamp.default
    ends = [(0.0, 6.0), (0.0,), (-1.0, 1.0), ()]
    nodes = [graph.call_function(clamp, (x, 1.0, *each)) for each in ends]
    assert [largest_result(node) for node in nodes] == [6.0, None, 1.0, None]


def test_ranges_leave_room_for_inputs_that_nobody_has_seen() -> None:
    observer = ShortObserver(
        dtype=torch.int16, qscheme=torch.per_tensor_symmetric, quant_min=-32767, quant_max=32767
    )
    for _ in range(20):
        observer(torch.tensor([-3.0, 1.0]))
    scale, zero_point = observer.calculate_qparams()
    assert float(scale) == pytest.approx(2 * 3 / 32767, rel=1e-4) and int(zero_point) == 0


@pytest.mark.parametrize(("usual", "room"), [(2.0, 2.0), (1.0, 3.0), (0.1, 8.0), (0.0, 2.0)])
def test_loud_inputs_leave_room_for_louder_ones(usual: float, room: float) -> None:
    observer = ShortObserver(
        dtype=torch.int16, qscheme=torch.per_tensor_symmetric, quant_min=-32767, quant_max=32767
    )
    for number in (usual, usual, -3.0, usual):
        observer(torch.tensor([number]))
    assert float(observer.calculate_qparams()[0]) == pytest.approx(room * 3 / 32767, rel=1e-4)
