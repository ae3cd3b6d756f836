"""An exported network of several kinds of layers, and what compares it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import nn

from cmcompiler.frontend.fidelity.check import LayerComparison, check
from cmcompiler.frontend.fidelity.pairing import pair
from cmcompiler.frontend.fidelity.record import LayerError, ProgramFidelity
from cmcompiler.frontend.layouts import channels_last
from cmcompiler.frontend.lowering import Lowered, lower_with_nodes
from cmcompiler.frontend.outputs import run_on
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.quantized import Quantized
from cmcompiler.frontend.vectors import Samples
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.pte.methods import find_method
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target


class Net(nn.Module):
    """Layers fused with their activations, ones that only move, tables, sums, and rows."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.pool = nn.MaxPool2d(2)
        self.rows = nn.Linear(16, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x).relu()
        y = self.pool((y + self.depthwise(y)).sigmoid() * y)
        y = torch.cat([y, y.flip(-1)], 1)
        return torch.softmax(self.rows(y.mean((2, 3))), -1)


@dataclass(frozen=True, eq=False)
class Exported:
    """
    Attributes:
        outputs: of the module.
    """

    quantized: Quantized
    lowered: Lowered
    samples: list[list[npt.NDArray[np.float32]]]
    outputs: tuple[npt.NDArray[np.float32], ...]

    def check(self) -> ProgramFidelity:
        lowered, real = self.lowered, self.quantized.real
        return check(lowered.program, lowered.nodes, real, self.samples, self.outputs)

    def graph(self) -> Graph:
        return build_graph(read_program(self.lowered.program))

    def layers(self, graph: Graph, changed: Graph) -> list[LayerError]:
        """The layers of a changed graph, on two samples."""
        method = find_method(read_program(self.lowered.program), "forward")
        real = self.quantized.real
        pairing = pair(graph, method, self.lowered.nodes, real.graph)
        comparison = LayerComparison(changed, pairing, real)
        with torch.no_grad():
            for sample in self.samples[:2]:
                inputs = tuple(channels_last(torch.from_numpy(array)) for array in sample)
                comparison.add(sample, inputs)
        return list(comparison.layers())


@pytest.fixture(scope="session")
def exported() -> Exported:
    torch.manual_seed(0)
    module, samples = Net().eval(), [(torch.randn(1, 3, 10, 10),) for _ in range(8)]
    quantized = quantize(module, samples[0], samples)
    lowered = lower_with_nodes(quantized, Target.parse("cortex-m55"))
    arrays = [[tensor.numpy() for tensor in sample] for sample in samples]
    return Exported(quantized, lowered, arrays, run_on(module, Samples.stack(arrays)))
