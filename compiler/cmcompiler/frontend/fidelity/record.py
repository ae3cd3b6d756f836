"""Results of the comparison of a program with its float model. Does not import torch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

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

    @property
    def used(self) -> float:
        """The share of what is allowed, 1 at the bound."""
        return max(self.error_steps / self.bound_steps, abs(self.mean_steps) / MEAN_STEPS)

    def worst(self, parts: Iterable[LayerError]) -> LayerError:
        """This layer with the error of the part that uses most of its bound."""
        every = [self, *parts]
        worst = max(every, key=lambda part: part.used)
        clipped = max(part.clipped for part in every)
        return replace(worst, snr_db=self.snr_db, clipped=clipped)


@dataclass(frozen=True, slots=True)
class LayerResolution:
    """The resolution of a layer's result after rounding.

    Attributes:
        node: its name in the exported graph.
        snr_db: of its result with nothing but its operands, weights and result rounded.
        span: of the range in the way with the widest steps, from the least to the largest number.
        steps: in that range.
        is_operand: the range is that of an operand, not of the result.
    """

    node: str
    snr_db: float
    span: float
    steps: int
    is_operand: bool


@dataclass(frozen=True, slots=True)
class StalledState:
    """A state whose updates are lost in rounding.

    Attributes:
        node: what computes its new value.
        share: of its updates over all runs.
    """

    node: str
    share: float


@dataclass(frozen=True, slots=True)
class FlippedDecisions:
    """Decisions of an operator, as of a comparison, that are not the float model's.

    Attributes:
        node: its name in the exported graph.
        share: of all its decisions.
    """

    node: str
    share: float


@dataclass(frozen=True, slots=True)
class RewritingError:
    """The change by rewrites of the float graph at an output.

    Attributes:
        output: its index.
        error: the largest, relative to the output's largest element.
        made, exact: that element after the rewrites, and in the user's module.
        shapes: of the output after the rewrites and in the user's module, if they differ.
    """

    output: int
    error: float
    made: float
    exact: float
    shapes: tuple[tuple[int, ...], tuple[int, ...]] | None = None


@dataclass(frozen=True, slots=True)
class ProgramFidelity:
    """All layers of a program.

    Attributes:
        layers: in the order of the program.
        unpaired: instructions without a counterpart in the float graph: `aten::add.out #12`.
        samples: that both computed.
        reason: why nothing could be compared; else None.
        resolutions: of layers that lose anything, the worst first.
        stalled: states that do not move.
        rewritten: the output that rewrites changed most, if they changed any.
        flipped: operators that decide otherwise for some elements.
    """

    layers: tuple[LayerError, ...] = ()
    unpaired: tuple[str, ...] = ()
    samples: int = 0
    reason: str | None = None
    resolutions: tuple[LayerResolution, ...] = ()
    stalled: tuple[StalledState, ...] = ()
    rewritten: RewritingError | None = None
    flipped: tuple[FlippedDecisions, ...] = ()

    @property
    def faithful(self) -> bool | None:
        """None if nothing was compared."""
        if self.rewritten is not None:
            return False
        return None if not self.layers else all(layer.faithful for layer in self.layers)
