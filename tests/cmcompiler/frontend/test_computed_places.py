"""Assignments at places that are computed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.computed_places import ComputedPlaces
from cmcompiler.frontend.layouts import export
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

PLACE = torch.tensor(2)
ROW, MATRIX = torch.arange(4.0), torch.arange(12.0).reshape(3, 4)


def _assign(x: Tensor, index: object, value: object) -> None:
    x[index] = value


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (PLACE, ROW + MATRIX),
        (PLACE, ROW),
        (PLACE, 5.0),
        (torch.tensor(-1), MATRIX),
        (torch.tensor(2, dtype=torch.int8), ROW),
        (torch.tensor(2, dtype=torch.int16), ROW),
        (PLACE, ROW.double()),
        (PLACE, ROW.long()),
        ((slice(None), PLACE), ROW),
        ((slice(None), PLACE), torch.ones(3, 4)),
        ((slice(None), PLACE), torch.ones(3, 1)),
        ((0, PLACE), ROW),
        ((slice(None), PLACE, 1), torch.arange(3.0)),
        ((slice(1, None), slice(None), PLACE), MATRIX[:2, :3]),
        ((PLACE, torch.tensor(1)), ROW),
        ((..., PLACE), MATRIX[:3, :3]),
        ((torch.tensor([0, 1]), PLACE), ROW),
        (torch.tensor(True), 1.0),
        (torch.tensor(2, dtype=torch.uint8), 1.0),
    ],
)
def test_the_same_elements_change(index: object, value: object) -> None:
    changed, expected = torch.zeros(3, 3, 4), torch.zeros(3, 3, 4)
    _assign(expected, index, value)
    with ComputedPlaces():
        _assign(changed, index, value)
    assert torch.equal(changed, expected)


class Ring(nn.Module):
    """The mean of the last four layers' results.

    Args:
        put: puts a row of results into the buffer.
    """

    def __init__(self, put: Callable[[Tensor, Tensor, Tensor], None]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.put, self.layer = put, nn.Linear(6, 8)
        self.past = nn.Buffer(torch.zeros(4, 8))
        self.step = nn.Buffer(torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        self.put(self.past, self.step % 4, self.layer(x))
        self.step += 1
        return self.past.mean(0, keepdim=True)


def _row(past: Tensor, step: Tensor, y: Tensor) -> None:
    past[step] = y[0]


def _whole_row(past: Tensor, step: Tensor, y: Tensor) -> None:
    past[step, :] = y


def _rows(past: Tensor, step: Tensor, y: Tensor) -> None:
    past[step.reshape(1)] = y


def _short_place(past: Tensor, step: Tensor, y: Tensor) -> None:
    past[step.short()] = y[0]


def _sum(past: Tensor, step: Tensor, y: Tensor) -> None:
    past[step] += y[0]


def test_a_row_that_is_read_is_named_in_a_list() -> None:
    with pytest.raises(Unsupported, match="an index of what is read") as refused:
        export(Ring(_sum).eval(), (torch.zeros(1, 6),))
    assert "buffer[step.reshape(1)]" in (refused.value.hint or "")


@pytest.mark.parametrize("put", [_row, _whole_row, _rows, _short_place])
def test_ring_buffers_keep_rows(put: Callable[[Tensor, Tensor, Tensor], None]) -> None:
    torch.manual_seed(1)
    samples = [(torch.randn(1, 6),) for _ in range(16)]
    quantized = quantize(Ring(put).eval(), samples[0], samples)
    assert not quantized.float_operators
    program = read_program(lower(quantized, Target.parse("cortex-m55")))
    runs = evaluate_all(build_graph(program), [[x.numpy()] for (x,) in samples])
    module = Ring(put).eval()
    with torch.no_grad():
        for (x,), run in zip(samples, runs, strict=True):
            made = torch.from_numpy(run.outputs[0])
            torch.testing.assert_close(made, module(x), atol=0.02, rtol=0)
