from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.outputs import ModelOutputs, holds_classes, names_of_outputs, run_on
from cmcompiler.frontend.vectors import Samples

SAMPLES = Samples((np.arange(6, dtype=np.float32).reshape(3, 1, 2),))


class Running(torch.nn.Module):
    """Returns a sum over the samples that it has seen, in a structure."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 2))

    def forward(self, x):
        self.total += x
        return {"sum": self.total, "none": None, "nested": [x > 2]}


def test_buffers_carry_over_and_structures_are_flattened():
    total, above = run_on(Running(), SAMPLES)
    assert total.tolist() == [[[0, 1]], [[2, 4]], [[6, 9]]]
    assert above.tolist() == [[[False, False]], [[False, True]], [[True, True]]]


class Shape(torch.nn.Module):
    def forward(self, x):
        return torch.tensor(x.shape)


def test_a_number_stays_one():
    (shapes,) = run_on(Shape(), Samples((np.arange(3, dtype=np.float32),)))
    assert shapes.shape == (3, 0)


class Boxes(NamedTuple):
    corners: torch.Tensor
    scores: torch.Tensor


class Detector(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        y, z = x + 1, x + 2
        return {
            "one": lambda: y,
            "pair": lambda: (y, z),
            "keys": lambda: {"boxes": y, "heads": [x + 3, z]},
            "fields": lambda: Boxes(y, z),
        }[self.kind]()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("one", ("",)),
        ("pair", ("", "")),
        ("keys", ("boxes", "heads_0", "heads_1")),
        ("fields", ("corners", "scores")),
    ],
)
def test_keys_and_fields_name_outputs(kind, names):
    exported = torch.export.export(Detector(kind), (torch.ones(2),))
    assert names_of_outputs(exported) == names


def test_a_sample_that_the_module_fails_on_is_named():
    double = Samples((np.ones((2, 1, 2)),))
    with pytest.raises(InvalidRequest, match="sample 1: RuntimeError: "):
        run_on(torch.nn.Linear(2, 2), double)


def test_saved_outputs_are_read_again(tmp_path):
    outputs = ModelOutputs(run_on(Running(), SAMPLES), (np.ones((3, 1, 2), np.float32),))
    outputs.save(tmp_path / "outputs.npz")
    loaded = ModelOutputs.load(tmp_path / "outputs.npz")
    assert [len(loaded.real), len(loaded.quantized)] == [2, 1]
    for before, after in zip(outputs.real, loaded.real, strict=True):
        np.testing.assert_array_equal(before, after)


class Head(torch.nn.Module):
    def __init__(self, last):
        super().__init__()
        self.linear, self.last = torch.nn.Linear(4, 6), last

    def forward(self, x):
        return self.last(self.linear(x))


@pytest.mark.parametrize(
    ("last", "is_choice"),
    [
        (torch.nn.Identity(), True),
        (torch.nn.Softmax(-1), True),
        (torch.nn.LogSoftmax(1), True),
        (lambda y: y.reshape(1, 6, 1, 1), True),
        (torch.nn.Dropout(), True),
        (torch.nn.Linear(6, 1), False),
        (torch.nn.Sigmoid(), False),
        (torch.nn.ReLU(), False),
        (lambda y: y.reshape(1, 2, 3), False),
        (lambda y: (y, y + 1), False),
        (lambda y: y.argmax(1), False),
    ],
)
def test_classes_are_one_output_of_a_linear_layer_or_a_softmax(last, is_choice):
    exported = torch.export.export(Head(last).eval(), (torch.rand(1, 4),))
    assert holds_classes(exported) is is_choice
