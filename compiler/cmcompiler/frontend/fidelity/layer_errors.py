"""Errors of layers over several runs. Importing it imports torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from cmcompiler.frontend.fidelity.pairing import ValuePair
from cmcompiler.frontend.fidelity.record import LayerError
from cmcompiler.frontend.fidelity.values import Array, real
from cmcompiler.frontend.operators.arithmetic import DIVISIONS
from cmcompiler.frontend.rewrites.editing import is_clamped

FLOAT_STEP = 2e-5
"""The step of a float result, relative to its largest element: see Op.error_steps."""

_FEW = 64
"""Elements whose mean error says nothing."""

_FEWEST = 8
"""Clipped elements; fewer are chance."""

_HARMONICS = 8
"""Places between two steps that are told from any place."""

_PLACES = 1 << 14
"""Elements of a run whose places are looked at."""

_SENTINEL = 16.0
"""Times the end of a range."""


@dataclass(slots=True)
class LayerErrors:
    """Errors of one layer."""

    pair: ValuePair
    _largest: float = 0.0
    _example: tuple[float, float] = (0.0, 0.0)
    _clipped: float = 0.0
    _signal: float = 0.0
    _noise: float = 0.0
    _count: int = 0
    _inside: int = 0
    _places: int = 0
    _sum: float = 0.0
    _turns: list[complex] = field(default_factory=lambda: [0j] * _HARMONICS)
    _lost: Tensor | None = None
    _moved: Tensor | None = None

    def add(
        self,
        computed: Tensor,
        made: Array,
        before: Tensor | None = None,
        step: Tensor | None = None,
    ) -> None:
        """
        Args:
            computed: by the float graph.
            made: by the program.
            before: the same in the previous run, of a state.
            step: of each element, if it is not that of the range; the least of a float result.
        """
        exact = computed.detach().double()
        output = real(made, self.pair.range).double().reshape(exact.shape)
        if not exact.numel():
            return
        expected = self._clamped(exact, output)
        steps = self._steps(exact, made, step)
        errors = torch.where(output == expected, 0.0, (output - expected) / steps)
        # No integer stands for what is not a number, as 0 / 0, and none for x / 0.
        is_unknown = expected.isnan()
        if self.pair.node.target in DIVISIONS:
            is_unknown = is_unknown | exact.isinf()
        is_free = is_unknown & (output.isnan() | (self.pair.range is not None))
        errors = torch.where(is_free, 0.0, errors).nan_to_num(math.inf, math.inf, -math.inf)
        sizes = errors.abs()
        worst = int(sizes.argmax())
        if float(sizes.flatten()[worst]) >= self._largest:
            self._largest = float(sizes.flatten()[worst])
            self._example = float(output.flatten()[worst]), float(exact.flatten()[worst])
        self._count += exact.numel()
        if before is not None and before.is_floating_point():
            lost, moved = exact - output, (exact - before.double()).abs()
            self._lost = lost if self._lost is None else self._lost + lost
            self._moved = moved if self._moved is None else self._moved + moved
        finite = exact.isfinite() & output.isfinite()
        self._signal += float(exact.where(finite, 0.0).square().sum())
        self._noise += float((exact - output).where(finite, 0.0).square().sum())
        if self.pair.range is not None:
            self._add_mean(exact, errors)

    def _clamped(self, exact: Tensor, output: Tensor) -> Tensor:
        """The exact numbers, as far as integers hold them.

        Some kernels of int16 use the type's least number, which ranges leave out.
        """
        held = self.pair.range
        if held is None:
            return exact
        least, largest = held.limits
        if not held.is_fixed and not is_clamped(self.pair.node):
            beyond = (exact < least - held.scale) | (exact > largest + held.scale)
            # Numbers that stand for masked ones are meant to lie at the end of the range.
            near = exact.abs() < _SENTINEL * max(abs(least), abs(largest))
            self._clipped += float((beyond & near).sum())
        clamped = exact.clamp(least, largest)
        return torch.where(output < least, exact.clamp(min=least - held.scale), clamped)

    def _steps(self, exact: Tensor, made: Array, step: Tensor | None) -> Tensor | float:
        if self.pair.range is not None:
            return self.pair.range.scale if step is None else step
        if made.dtype.kind in "iub":
            return 1.0
        sizes = exact[exact.isfinite()].abs()
        least = max(float(sizes.max()) if sizes.numel() else 0.0, 1e-30) * FLOAT_STEP
        return least if step is None else step.clamp(min=least)

    def _add_mean(self, exact: Tensor, errors: Tensor) -> None:
        """Adds errors inside the range, and where between two steps the exact numbers lie."""
        held = self.pair.range
        assert held is not None
        least, largest = held.limits
        inside = (exact > least) & (exact < largest)
        self._sum += float(errors.where(inside, 0.0).sum())
        self._inside += int(inside.sum())
        # An odd distance meets all channels and places of a row.
        some = exact.flatten()[:: exact.numel() // _PLACES | 1]
        some = some[(some > least) & (some < largest)]
        once = torch.polar(torch.ones_like(some), some * (2 * math.pi / held.scale))
        turns = once
        for harmonic in range(_HARMONICS):
            self._turns[harmonic] += complex(turns.sum())
            turns = turns * once
        self._places += some.numel()

    @property
    def _mean(self) -> float:
        """The mean of the errors if the exact numbers lie anywhere between two steps: roundings of
        those that all lie at the same few places, as means of two numbers, do not cancel out.
        """
        if self._inside < _FEW or max(map(abs, self._turns)) > self._places / 4:
            return 0.0
        return self._sum / self._inside

    @property
    def drift(self) -> tuple[float, float]:
        """The loss of a state's updates: as a share of them, and in steps of an element."""
        if self._lost is None or self._moved is None or self.pair.range is None:
            return 0.0, 0.0
        lost = float(self._lost.abs().sum())
        share = lost / max(float(self._moved.sum()), 1e-30)
        return share, lost / self._lost.numel() / self.pair.range.scale

    def layer(self) -> LayerError:
        snr = None
        if self._noise > 0 and self._signal > 0:
            snr = 10 * math.log10(self._signal / self._noise)
        made, exact = self._example
        return LayerError(
            node=self.pair.name,
            error_steps=min(self._largest, 1e9),
            bound_steps=self.pair.bound,
            mean_steps=self._mean,
            snr_db=snr,
            clipped=0.0 if self._clipped < _FEWEST else self._clipped / self._count,
            made=made,
            exact=exact,
        )
