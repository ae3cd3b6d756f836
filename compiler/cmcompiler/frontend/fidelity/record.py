"""What the comparison of a program with its float model found. Does not import torch."""

from __future__ import annotations

from dataclasses import dataclass

MEAN_STEPS = 0.25
"""Largest mean of a layer's signed errors: roundings cancel out, an offset does not."""


@dataclass(frozen=True, slots=True)
class LayerError:
    """One layer of a program beside the float graph, on the program's own inputs.

    Attributes:
        node: its name in the exported graph.
        error_steps: the largest error, in steps of the layer's result.
        bound_steps: the largest that its arithmetic allows.
        mean_steps: the mean of the signed errors, where roundings would cancel out; else 0.
        snr_db: of the layer alone; None without any error.
        clipped: the share of elements beyond the calibrated range by more than a step.
        made, exact: the element with the largest error, and what the float model has there.
    """

    node: str
    error_steps: float
    bound_steps: float
    mean_steps: float
    snr_db: float | None
    clipped: float
    made: float
    exact: float

    @property
    def faithful(self) -> bool:
        return self.error_steps <= self.bound_steps and abs(self.mean_steps) <= MEAN_STEPS


@dataclass(frozen=True, slots=True)
class ProgramFidelity:
    """All layers of a program.

    Attributes:
        layers: in the order of the program.
        unpaired: instructions without a counterpart in the float graph: `aten::add.out #12`.
        samples: that both computed.
        reason: why nothing could be compared; else None.
    """

    layers: tuple[LayerError, ...] = ()
    unpaired: tuple[str, ...] = ()
    samples: int = 0
    reason: str | None = None

    @property
    def faithful(self) -> bool | None:
        """None if nothing was compared."""
        return None if not self.layers else all(layer.faithful for layer in self.layers)
