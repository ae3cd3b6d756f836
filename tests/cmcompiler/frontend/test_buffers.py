"""Modules with state: which buffers they change, and how programs represent them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cmcompiler.frontend.buffers import WithBuffers, mutable_buffers
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target


class Average(nn.Module):
    """A running mean by assignment, in a submodule."""

    def __init__(self) -> None:
        super().__init__()
        self.past = nn.Buffer(torch.full((1, 4), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        self.past = self.past * 0.5 + x
        return self.past


class Streaming(nn.Module):
    """Windows of a stream; a convolution sees the rows of this one and the last."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3)
        self.norm = nn.BatchNorm2d(3)
        self.rows = nn.Buffer(torch.zeros(1, 2, 2, 6))
        self.calls = nn.Buffer(torch.tensor([3]))
        self.linear = nn.Linear(12, 4)
        self.average = Average()
        self.table = nn.Buffer(torch.ones(4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        rows = torch.cat([self.rows, x], 2)
        self.rows.copy_(rows[:, :, -2:])
        self.calls += 1
        y = torch.relu(self.norm(self.conv(rows)))
        return self.average(self.linear(y.flatten(1))) + self.table, self.calls.clone()


STATES = ["rows", "calls", "average.past"]


class Swapping(nn.Module):
    """Passes its first state on to its second."""

    def forward(self, x: Tensor, first: Tensor, second: Tensor) -> Any:
        return second, (x, first)


def streaming() -> Streaming:
    torch.manual_seed(0)
    return Streaming().eval()


def windows(count: int) -> list[tuple[Tensor]]:
    torch.manual_seed(1)
    return [(torch.rand(1, 2, 1, 6),) for _ in range(count)]


def program(module: nn.Module) -> Graph:
    samples = windows(32)
    return build_graph(
        read_program(lower(quantize(module, samples[0], samples), Target.parse("cortex-m55")))
    )


def test_finds_buffers_that_forward_changes() -> None:
    module = streaming()
    buffers = mutable_buffers(module, windows(1)[0])
    assert sorted(buffers) == sorted(STATES)
    assert all(
        buffers[name] is buffer for name, buffer in module.named_buffers() if name in buffers
    )


def test_buffers_that_are_only_read_are_none() -> None:
    module = nn.Sequential(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.ReLU(inplace=True)).eval()
    assert mutable_buffers(module, windows(1)[0]) == {}


class Delayed(nn.Module):
    """Assigns an input to a buffer, and what that held to another."""

    def __init__(self) -> None:
        super().__init__()
        self.last, self.before = nn.Buffer(torch.zeros(1, 4)), nn.Buffer(torch.zeros(1, 4))

    def forward(self, x: Tensor) -> Tensor:
        y = x - self.last * 0.5 + self.before * 0.25
        self.before = self.last
        self.last = x
        return y


def test_inputs_and_buffers_are_assigned() -> None:
    module, inputs = Delayed(), [(torch.randn(1, 4),) for _ in range(4)]
    assert list(mutable_buffers(module, inputs[0])) == ["last", "before"]
    quantized = quantize(module, inputs[0], inputs)
    graph = build_graph(read_program(lower(quantized, Target.parse("cortex-m55"))))
    ours = evaluate_all(graph, [[x.numpy() for x in sample] for sample in inputs])
    for sample, evaluation in zip(inputs, ours, strict=True):
        exact = module(*sample).numpy()
        np.testing.assert_allclose(evaluation.outputs[0], exact, atol=0.1)


@pytest.mark.parametrize("archived", [False, True])
def test_a_program_remembers_what_the_module_does(archived: bool) -> None:
    module = streaming()
    if archived:
        # torch.export misses assignments in submodules.
        module.average = nn.Identity()
        module = torch.export.export(module, windows(1)[0]).module()
    graph = program(module)
    assert len(graph.states) == (2 if archived else 3)
    inputs = windows(8)
    with torch.no_grad():
        right = [module(*sample) for sample in inputs]
    ours = list(evaluate_all(graph, [[x.numpy() for x in sample] for sample in inputs]))
    exact = np.stack([y.numpy() for y, _ in right])
    actual = np.stack([evaluation.outputs[0] for evaluation in ours])
    assert np.abs(actual - exact).max() < 0.04 * np.ptp(exact)
    assert [int(evaluation.outputs[1][0]) for evaluation in ours] == list(range(4, 12))


def test_the_module_keeps_its_state_to_itself() -> None:
    module = streaming()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    program(module)
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])


def test_convolutions_over_a_buffer_are_quantised() -> None:
    samples = windows(4)
    left = quantize(streaming(), samples[0], samples).float_operators
    assert not [float_one for float_one in left if "conv" in float_one.operator]


def test_a_buffer_takes_the_value_that_another_had() -> None:
    exported = torch.fx.symbolic_trace(Swapping())
    module = WithBuffers(exported, (torch.ones(1), torch.zeros(1)))
    module(torch.tensor([5.0]))
    assert [float(x) for x in module.buffers()] == [5.0, 1.0]
