"""Exported networks, and what compares them with their float graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
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
from cmcompiler.frontend.quiet import quiet
from cmcompiler.frontend.source import find_source
from cmcompiler.frontend.vectors import Samples
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.reference import Array, evaluate
from cmcompiler.pte.methods import find_method
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

TARGET = Target.parse("cortex-m55")
REFUSED = (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError)
"""What references raise for parameters that no reader would let pass."""

NEAREST = 0.5 + 1e-5
"""Steps. A table with a tie rounded down is as right as one with it rounded up."""


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

    @classmethod
    def of(cls, module: nn.Module, samples: Sequence[tuple[torch.Tensor, ...]]) -> Exported:
        with quiet():
            quantized = quantize(module, samples[0], samples)
            lowered = lower_with_nodes(quantized, TARGET)
        arrays = [[tensor.numpy() for tensor in sample] for sample in samples]
        return cls(quantized, lowered, arrays, run_on(module, Samples.stack(arrays)))

    @classmethod
    def load(cls, model: str, count: int = 2) -> Exported:
        """
        Args:
            model: `path.py:function`.
            count: of samples.
        """
        with quiet():
            loaded = find_source(model).load(0, None)
            quantized = quantize(loaded.module, loaded.example_inputs, loaded.calibration)
            lowered = lower_with_nodes(quantized, TARGET)
        arrays = [list(sample) for sample, _ in zip(loaded.samples, range(count), strict=False)]
        outputs = run_on(loaded.module, Samples.stack(arrays))
        return cls(quantized, lowered, arrays, outputs)

    def check(self) -> ProgramFidelity:
        lowered, real = self.lowered, self.quantized.real
        return check(lowered.program, lowered.nodes, real, self.samples, self.outputs)

    def graph(self) -> Graph:
        return build_graph(read_program(self.lowered.program))

    def layers(self, graph: Graph, changed: Graph, samples: int = 2) -> list[LayerError]:
        """The layers of a changed graph."""
        method = find_method(read_program(self.lowered.program), "forward")
        real = self.quantized.real
        pairing = pair(graph, method, self.lowered.nodes, real.graph)
        comparison = LayerComparison(changed, pairing, real)
        with torch.no_grad():
            for sample in self.samples[:samples]:
                inputs = tuple(channels_last(torch.from_numpy(array)) for array in sample)
                comparison.add(sample, inputs)
        return comparison.layers()

    def results(self, graph: Graph, samples: int = 2) -> list[Array] | None:
        """The outputs and states of a graph; None if the reference refuses it."""
        results: list[Array] = []
        states = None
        try:
            with np.errstate(all="ignore"):
                for sample in self.samples[:samples]:
                    run = evaluate(graph, sample, states=states)
                    states = run.states
                    results += [*run.outputs, *run.states]
        except REFUSED:
            return None
        return results
