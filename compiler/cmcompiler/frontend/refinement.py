"""Improves on the quantizer's own ranges, weights and biases. Importing it imports torch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor
from torch.fx import GraphModule

from cmcompiler.frontend.bias_correction import biases, correct
from cmcompiler.frontend.equalisation import equalise, pairs
from cmcompiler.frontend.observations import Observation
from cmcompiler.frontend.quantized import Refinement
from cmcompiler.frontend.sensitivity import snr
from cmcompiler.frontend.simulation import Simulation

MINIMAL_GAIN = 1.0
"""In dB; less is not worth other bits than the quantizer's own."""

_TAILS = (0.0, 1e-5, 1e-4)
"""Shares of an activation's elements that ranges leave out at either end."""

_SAMPLES = 32
_FEWEST_SAMPLES = 4
_ELEMENTS = 100_000_000
"""Elements of all activations of all samples that refinement computes with, if that many samples
are more than the fewest."""


class Refiner:
    """Tries ways to quantise a prepared graph on calibration inputs.

    Args:
        samples: calibration inputs, each with the states before it. Every other one decides, and
            is not used for corrections.
        states: how many of the last outputs are states.
    """

    def __init__(
        self, prepared: GraphModule, samples: Sequence[Sequence[Tensor]], states: int
    ) -> None:
        self._prepared, self._states = prepared, states
        self._simulation = Simulation(prepared)
        samples = samples[: sample_count(prepared)]
        self._fitted, self._deciding = samples[1::2], samples[::2]
        self._exact = self._outputs(rounding=False)
        self._found: list[Refinement] = []
        self._snr = self._measure()

    def refine(self, observations: Sequence[Observation]) -> tuple[Refinement, ...]:
        """Applies what raises the SNR at the outputs; the graph's own settings win ties."""
        if math.isfinite(self._snr):
            self._choose_ranges(observations)
            self._equalise_layers()
            self._correct_biases()
        return tuple(self._found)

    def _choose_ranges(self, observations: Sequence[Observation]) -> None:
        found = {}
        for share in _TAILS:
            for each in observations:
                each.choose(each.without_tails(share))
            found[share] = self._measure()
        best = max(found, key=lambda share: found[share])
        name = f"ranges of {1 - 2 * best:.3%} of elements" if best else "whole ranges"
        is_better = self._accept(name, found[best])
        for each in observations:
            each.choose(each.without_tails(best) if is_better else each.searched)

    def _equalise_layers(self) -> None:
        found = list(pairs(self._prepared))
        if not found:
            return
        change = equalise(self._simulation, found, [*self._fitted, *self._deciding])
        if not self._accept("cross-layer equalisation", self._measure()):
            change.undo()

    def _correct_biases(self) -> None:
        found = list(biases(self._prepared))
        if not found or not self._fitted:
            return
        correct(self._simulation, found, self._fitted)
        if not self._accept("bias correction", self._measure()):
            for bias in found:
                bias.restore()

    def _accept(self, name: str, snr_db: float) -> bool:
        if not snr_db >= self._snr + MINIMAL_GAIN:
            return False
        self._found.append(Refinement(name, self._snr, snr_db))
        self._snr = snr_db
        return True

    def _measure(self) -> float:
        return snr(self._exact, self._outputs(rounding=True))

    def _outputs(self, *, rounding: bool) -> list[Tensor]:
        rows = self._simulation.run_on(self._deciding, rounding=rounding)
        return [output for row in rows for output in row[: len(row) - self._states]]


def sample_count(prepared: GraphModule) -> int:
    """Samples that refinement uses: fewer for larger models."""
    values = (node.meta.get("val") for node in prepared.graph.nodes if node.op == "call_function")
    elements = sum(value.numel() for value in values if isinstance(value, Tensor))
    return min(_SAMPLES, max(_FEWEST_SAMPLES, _ELEMENTS // max(elements, 1)))
