"""Costs of each part of a model in each precision, and of its roundings at the outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cmcompiler.frontend.parts import Rounded, RoundingCost
from cmcompiler.frontend.precision import BYTES, FINE, NIBBLES, SHORT_ACTIVATIONS

Mix = tuple[str, ...]
"""The precision of each part."""

FINER = 2.0**-16
"""The power of the error of int16 activations over that of int8 ones in the same range."""

_LEAST_LEFT = 2.0**-8
"""Part of the error of rounded weights that is left at least."""


@dataclass(frozen=True, slots=True)
class PartCost:
    """A part in one precision.

    Attributes:
        cycles: of one inference, predicted.
        weights: bytes of constants.
        arena: bytes in use at its fullest step.
        kernels: that it calls.
    """

    cycles: float
    weights: int
    arena: int
    kernels: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MixCost:
    """Costs of a mix, as the table has them.

    Attributes:
        noise: power of the error over that of the numbers, at each output of the model.
    """

    cycles: float
    weights: int
    arena: int
    noise: tuple[float, ...]


@dataclass(frozen=True)
class MixTable:
    """All that a search knows of a model on a board.

    Attributes:
        choices: by precision, for each part; int8 always is one.
        roundings: each alone.
        conversion: cycles of an element that changes between int8 and int16.
        fixed: of what belongs to no part.
        scale: the error of the whole over the sum of those of its roundings, at each output.
        compensated: by precision, the part of the error of rounded weights that is left where the
            export makes up for it, at each output; all of it if nothing is said.
        code: bytes of code that mixes take beyond that of int8, by the kernels that they call in
            other precisions; of those that call more, as well.
    """

    choices: tuple[Mapping[str, PartCost], ...]
    roundings: tuple[RoundingCost, ...]
    conversion: float
    fixed: PartCost
    scale: tuple[float, ...]
    compensated: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    code: Mapping[frozenset[tuple[str, str]], int] = field(default_factory=dict)

    def cost(self, mix: Sequence[str]) -> MixCost:
        own = [choices[precision] for choices, precision in zip(self.choices, mix, strict=True)]
        is_short = [precision in SHORT_ACTIVATIONS for precision in mix]
        is_narrow = [precision == NIBBLES for precision in mix]
        cycles = self.fixed.cycles + sum(part.cycles for part in own)
        noise = [0.0] * len(self.scale)
        for kind, parts, elements, caused in self._listed:
            if kind is Rounded.ACTIVATION:
                shorts = sum(is_short[part] for part in parts)
                factor = FINER if shorts == len(parts) else 1.0
                if 0 < shorts < len(parts):
                    cycles += elements * self.conversion
            else:
                is_counted = is_narrow[parts[0]] is (kind is Rounded.NARROW_WEIGHTS)
                factor = FINER if mix[parts[0]] == FINE else float(is_counted)
            if factor:
                left = caused if kind is Rounded.ACTIVATION else self._left(caused, mix[parts[0]])
                noise = [sum_ + factor * each for sum_, each in zip(noise, left, strict=True)]
        return MixCost(
            cycles,
            self.fixed.weights + sum(part.weights for part in own) + self._code(mix),
            max([self.fixed.arena, *(part.arena for part in own)]),
            tuple(scale * each for scale, each in zip(self.scale, noise, strict=True)),
        )

    def coded(self, mix: Mix, used: int) -> MixTable:
        """The table with what a mix was found to take, weights and the code beyond that of int8."""
        more = self._code(mix) + used - self.cost(mix).weights
        return replace(self, code={**self.code, self._kernels(mix): more})

    def _code(self, mix: Sequence[str]) -> int:
        kernels = self._kernels(mix) if self.code else frozenset()
        return max((more for some, more in self.code.items() if some <= kernels), default=0)

    def _kernels(self, mix: Sequence[str]) -> frozenset[tuple[str, str]]:
        """The kernels that a mix calls in other precisions than int8, with these."""
        parts = zip(self.choices, mix, strict=True)
        return frozenset(
            (kernel, kind) for each, kind in parts if kind != BYTES for kernel in each[kind].kernels
        )

    def noise_of(self, part: int, precision: str) -> tuple[float, ...]:
        """Noise of the roundings of a part alone: its weights, and the tensor that it makes."""
        noise = [0.0] * len(self.scale)
        for kind, parts, _, caused in self._listed:
            if parts[0] != part:
                continue
            if kind is Rounded.ACTIVATION:
                factor = FINER if precision in SHORT_ACTIVATIONS else 1.0
            else:
                is_counted = (precision == NIBBLES) is (kind is Rounded.NARROW_WEIGHTS)
                factor = FINER if precision == FINE else float(is_counted)
            left = caused if kind is Rounded.ACTIVATION else self._left(caused, precision)
            noise = [sum_ + factor * each for sum_, each in zip(noise, left, strict=True)]
        return tuple(noise)

    def calibrated(self, precision: str, mix: Mix, noise: Sequence[float]) -> MixTable:
        """The table with what is left of the error of weights in one precision.

        Args:
            mix: of which so much noise was measured, with parts in this precision.
        """
        outputs = len(self.scale)
        least, most = (
            replace(self, compensated={**self.compensated, precision: (left,) * outputs}).cost(mix)
            for left in (0.0, 1.0)
        )
        left = tuple(
            min(1.0, max(_LEAST_LEFT, (has - low) / (high - low))) if high > low else 1.0
            for has, low, high in zip(noise, least.noise, most.noise, strict=True)
        )
        return replace(self, compensated={**self.compensated, precision: left})

    def _left(self, noise: tuple[float, ...], precision: str) -> tuple[float, ...]:
        """Noise of rounded weights that is left in a precision."""
        left = self.compensated.get(precision)
        return noise if left is None else tuple(a * b for a, b in zip(noise, left, strict=True))

    @cached_property
    def _listed(self) -> list[tuple[Rounded, tuple[int, ...], int, tuple[float, ...]]]:
        """Roundings of tensors that some part makes or reads."""
        return [(each.kind, each.parts, each.elements, each.noise) for each in self.roundings]

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """Parts that change together: those of each activation, which is fine only if all are."""
        together = {each.parts for each in self.roundings if each.kind is Rounded.ACTIVATION}
        return sorted(together)

    @property
    def plain(self) -> Mix:
        return (BYTES,) * len(self.choices)
