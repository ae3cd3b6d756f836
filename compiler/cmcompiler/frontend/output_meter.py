"""Measures the outputs of a simulated graph against the exact ones. Importing it imports torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from cmcompiler.frontend.sensitivity import snr
from cmcompiler.frontend.simulation import Simulation

_LOUD = 0.1
"""Share of an output's mean power from which on a sample's own ratio counts."""


@dataclass(frozen=True, slots=True)
class TriedOutputs:
    """The outputs of the samples that decide, and their ratio to the exact ones."""

    snr_db: float
    outputs: Sequence[Tensor]


class OutputMeter:
    """SNR of a graph's rounded outputs on samples.

    Args:
        halves: the samples that decide, and the others of those that are tried.
        unseen: samples that are not tried.
        states: how many of the last outputs are states, which do not count.
    """

    def __init__(
        self,
        simulation: Simulation,
        halves: tuple[Sequence[Sequence[Tensor]], Sequence[Sequence[Tensor]]],
        unseen: Sequence[Sequence[Tensor]],
        states: int,
    ) -> None:
        self._simulation, self._states = simulation, states
        self._halves, self._unseen = halves, unseen
        self._exact = [self._outputs(half, rounding=False) for half in halves]
        self._exact_unseen = self._outputs(unseen, rounding=False)

    def measure(self) -> TriedOutputs:
        """On the samples that decide."""
        outputs = self._outputs(self._halves[0], rounding=True)
        return TriedOutputs(snr(self._exact[0], outputs), outputs)

    def others(self) -> float:
        """The ratio on the others of those that are tried, in dB."""
        return snr(self._exact[1], self._outputs(self._halves[1], rounding=True))

    def each_other(self) -> list[float]:
        """The ratio of each output on those."""
        return self.by_output(1, self._outputs(self._halves[1], rounding=True))

    def unseen(self) -> float:
        """The ratio on samples that are not tried, in dB."""
        return snr(self._exact_unseen, self._outputs(self._unseen, rounding=True))

    def by_output(self, half: int, computed: Sequence[Tensor]) -> list[float]:
        """The ratio of each output of the samples of a half."""
        exact, count = self._exact[half], len(computed) // max(len(self._halves[half]), 1)
        return [snr(exact[place::count], computed[place::count]) for place in range(count)]

    def by_sample(self, made: Sequence[Tensor]) -> list[float]:
        """The least ratio of an output of each deciding sample, outputs near 0 aside."""
        exact, samples = self._exact[0], max(len(self._halves[0]), 1)
        count = len(exact) // samples
        powers = [float(x.double().square().sum()) for x in exact]
        least = [_LOUD * sum(powers[place::count]) / samples for place in range(count)]
        return [
            min(
                (
                    snr(exact[place : place + 1], made[place : place + 1])
                    for place in range(first, first + count)
                    if powers[place] > least[place - first]
                ),
                default=math.inf,
            )
            for first in range(0, len(exact), count or 1)
        ]

    def _outputs(self, samples: Sequence[Sequence[Tensor]], *, rounding: bool) -> list[Tensor]:
        rows = self._simulation.run_on(samples, rounding=rounding) if samples else []
        return [output for row in rows for output in row[: len(row) - self._states]]
