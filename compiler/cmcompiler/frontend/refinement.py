"""Improves on the quantizer's own ranges, weights and biases. Importing it imports torch."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.fx import GraphModule, Node

from cmcompiler.frontend.balanced_joins import balance
from cmcompiler.frontend.bias_correction import biases, correct
from cmcompiler.frontend.compensated_rounding import compensate, narrow_layers
from cmcompiler.frontend.costly_roundings import costly_operators
from cmcompiler.frontend.equalisation import equalise, pairs
from cmcompiler.frontend.float_parts import UnroundedPart
from cmcompiler.frontend.image_means import separate_means
from cmcompiler.frontend.joined_operands import is_narrow, separate_operands
from cmcompiler.frontend.observations import Observation
from cmcompiler.frontend.output_meter import OutputMeter, TriedOutputs
from cmcompiler.frontend.own_ranges import GroupPart
from cmcompiler.frontend.quantized import Refinement
from cmcompiler.frontend.quantized_op import QUANTIZED
from cmcompiler.frontend.resolution import LEAST, OperandRounding, coarse
from cmcompiler.frontend.rewrites.channels import CONVOLUTIONS, LAYERS
from cmcompiler.frontend.rewrites.short_spectra import is_lost
from cmcompiler.frontend.short_rounding import SHARES_HELD, compensate_short, short_layers
from cmcompiler.frontend.simulation import Simulation
from cmcompiler.frontend.tried_samples import divided, is_large, resolved_samples, sample_count

MINIMAL_GAIN = 1.0
"""In dB; less is not worth other bits than the quantizer's own."""

MINIMAL_FURTHER_GAIN = 0.5
"""In dB, once the bits are others than the quantizer's own anyway."""

MINIMAL_GAIN_OF_OWN_RUNTIME = 2.5
"""In dB; less is not worth a program that ExecuTorch's runtime cannot run, where it could."""

MINIMAL_GAIN_OF_FLOAT = 3.0
"""In dB, at some output; less is not worth the time that operators take in float."""

MINIMAL_GAIN_OF_FLOAT_LAYERS = 6.0
"""In dB, at an output that rounding spoils, for convolutions and linear layers in float."""

_LOSS = 0.5
"""In dB, at the outputs, for an operand that would have lost most of its steps."""

FINE = 30.0
"""In dB: an output that needs no float."""

TOO_COARSE = "8 bits are too coarse for its operands"

_MOST_SPOILT = 8
"""Results for which float is tried."""

_MOST_COSTLY = 2
"""Samples, the worst, on which single roundings are looked at."""

_SAFE = 26.0
"""In dB: where the worst of a few samples keeps as much, few others keep less than 20 dB."""

_STEEP = 50.0
"""In dB: small numbers are fine where all of them, with the large ones, keep as much."""

_COSTLY = 36.0
"""In dB, left by a rounding: four such leave 30."""

_TAILS = (0.0, 1e-5, 1e-4)
"""Shares of an activation's elements that ranges leave out at either end."""

_HELD_GAIN = 0.5
"""Share of a gain that must hold on samples that were not tried."""


class Refiner:
    """Tries ways to quantise a prepared graph on calibration inputs.

    Args:
        samples: calibration inputs, each with the states before it. Of those that are tried, every
            other one decides, and is not used for corrections; on the others, nothing may get
            worse. What was gained must hold on some that were not tried at all.
        states: how many of the last outputs are states.
    """

    def __init__(
        self, prepared: GraphModule, samples: Sequence[Sequence[Tensor]], states: int
    ) -> None:
        self._prepared, self._states = prepared, states
        self._simulation = Simulation(prepared)
        tried, self._unseen = divided(samples, sample_count(prepared))
        self._fitted, self._deciding = tried[1::2], tried[::2]
        most = sample_count(prepared)
        self._further = samples[most + most // 2 :][:most]
        self._meter = OutputMeter(
            self._simulation, (self._deciding, self._fitted), self._unseen, states
        )
        self._found: list[Refinement] = []
        self._floats: dict[str, str] = {}
        self._now = self._meter.measure()
        self._each = [self._meter.by_output(0, self._now.outputs)]
        self._others_snr = self._meter.others()
        self._unseen_snr = self._meter.unseen()

    def refine(
        self,
        observations: Sequence[Observation],
        means: Sequence[GroupPart] = (),
        operands: Sequence[GroupPart] = (),
    ) -> tuple[Refinement, ...]:
        """Applies what raises the SNR at the outputs; the graph's own settings win ties."""
        if math.isfinite(self._now.snr_db):
            whole = [part for part in operands if part.is_whole]
            self._balance_operands(whole)
            self._separate_operands(whole)
            is_separate = self._separate_means([part for part in means if part.is_whole])
            self._choose_ranges(observations)
            is_balanced = self._equalise_layers()
            # Faults that integers can mend stay in integers.
            self._compute_in_float()
            self._compensate_roundings()
            self._compensate_short_roundings()
            self._correct_biases()
            # The range that balancing changed may be that of a mean.
            if self._found and not is_separate and not is_balanced:
                self._separate_means([part for part in means if part.is_whole])
        return tuple(self._found)

    @property
    def in_float(self) -> Mapping[str, str]:
        """Why operators were left in float, by the names of their nodes."""
        return self._floats

    def _compute_in_float(self) -> None:
        """Leaves operators in float whose operands 8 bits are too coarse for.

        Convolutions and linear layers come last, as their weights take four times the memory then.
        """
        self._try_costly()
        self._recover_lost()
        if min(self._each[0], default=FINE) >= FINE:
            return
        self._each = [self._meter.by_output(0, self._now.outputs)]
        if min(self._each[0]) >= FINE:
            return
        samples = self._deciding[: resolved_samples(self._prepared)]
        spoilt = OperandRounding(self._prepared, samples).spoilt()
        if not spoilt:
            return
        self._each = [self._each[0], self._meter.each_other()]
        names = [node.name for node in spoilt]
        for with_layers in (False, True):
            fine = LEAST if with_layers else FINE
            for name in names[:_MOST_SPOILT]:
                nodes = self._named([name])
                if nodes and min(self._each[0]) < fine:
                    resolution = OperandRounding(self._prepared, samples)
                    bounds = (
                        (LEAST, MINIMAL_GAIN_OF_FLOAT_LAYERS)
                        if with_layers
                        else (FINE, MINIMAL_GAIN_OF_FLOAT)
                    )
                    self._try_in_float(nodes, resolution, () if with_layers else LAYERS, bounds)
            if not with_layers:
                self._try_together(names[:_MOST_SPOILT], samples)

    def _recover_lost(self) -> None:
        """Computes in float what leads to functions whose small numbers 8 bits lose, whatever the
        outputs of these samples keep: the next one may be quiet. Convolutions stay as they are.
        """
        names = [node.name for node in self._prepared.graph.nodes if is_lost(node)]
        samples = self._deciding[: resolved_samples(self._prepared)]
        for name in names[:_MOST_SPOILT]:
            self._each = [self._meter.by_output(0, self._now.outputs), self._meter.each_other()]
            is_fine = min(self._each[0], default=FINE) >= FINE
            gain = MINIMAL_GAIN_OF_FLOAT_LAYERS if is_fine else MINIMAL_GAIN_OF_FLOAT
            resolution = OperandRounding(self._prepared, samples, _STEEP)
            self._try_in_float(self._named([name]), resolution, CONVOLUTIONS, (math.inf, gain))

    def _try_costly(self) -> None:
        """Computes operators in float between which rounding costs some sample much, though none is
        spoilt alone and other samples hide it.
        """
        before = self._meter.by_sample(self._now.outputs)
        if min(before, default=_SAFE) >= _SAFE:
            return
        order = sorted(range(len(before)), key=before.__getitem__)
        samples = [self._deciding[place] for place in order[:_MOST_COSTLY]]
        part = UnroundedPart(self._prepared)
        for node in costly_operators(self._prepared, samples, _COSTLY):
            part.extend([node])
        if not part.members:
            return
        if not self._states:
            part.read_by_outputs()
        after = self._meter.measure()
        gained = (
            min(self._meter.by_sample(after.outputs)) >= min(before) + MINIMAL_GAIN_OF_FLOAT_LAYERS
        )
        if gained and self._accept("operators in float", after, 0.0):
            self._floats.update(dict.fromkeys(part.keep(), TOO_COARSE))
            self._each = [self._meter.by_output(0, after.outputs), self._meter.each_other()]
        else:
            part.undo()

    def _try_together(self, names: Sequence[str], samples: Sequence[Sequence[Tensor]]) -> None:
        """Computes results in float none of which gains enough alone, as both sides of a product.

        Only for an output that rounding spoils.
        """
        left = [node for node in self._named(names) if node.name not in self._floats]
        if len(left) > 1 and min(self._each[0]) < LEAST:
            resolution = OperandRounding(self._prepared, samples)
            self._try_in_float(left, resolution, LAYERS, (LEAST, MINIMAL_GAIN_OF_FLOAT))

    def _named(self, names: Collection[str]) -> list[Node]:
        """The nodes of these names that no part in float has taken along."""
        return [node for node in self._prepared.graph.nodes if node.name in names]

    def _try_in_float(
        self,
        nodes: Sequence[Node],
        resolution: OperandRounding,
        without: Collection[Any],
        bounds: tuple[float, float],
    ) -> None:
        """Computes results in float, and their operands as far back as it takes to be exact.

        Args:
            without: operators that stay in integers.
            bounds: as `_is_better_in_float` takes them.
        """
        part = UnroundedPart(self._prepared)
        for node in nodes:
            resolution.extend(part, node, self._inputs, without=without)
        if part.members and self._is_better_in_float(*bounds):
            self._floats.update(dict.fromkeys(part.keep(), TOO_COARSE))
        else:
            part.undo()

    @property
    def _inputs(self) -> set[Node]:
        """Inputs of the model, which are float unless somebody asks for others."""
        nodes = [node for node in self._prepared.graph.nodes if node.op == "placeholder"]
        return set(nodes[: len(nodes) - self._states])

    def _is_better_in_float(self, fine: float, least: float) -> bool:
        """Whether some output gains, and no other loses.

        Args:
            fine: an output that needs no improvement, in dB.
            least: gain at another one.
        """
        (before, others), measured = self._each, self._meter.measure()
        after = self._meter.by_output(0, measured.outputs)
        gains = [b - a if a < fine else 0.0 for a, b in zip(before, after, strict=True)]
        gained = gains.index(max(gains))
        is_kept = all(b >= min(a - 0.5, FINE) for a, b in zip(before, after, strict=True))
        if gains[gained] < least or not is_kept:
            return False
        further = self._meter.each_other()
        if further and further[gained] < others[gained]:
            return False
        if not self._holds(MINIMAL_GAIN):
            return False
        self._each = [after, further]
        self._found.append(Refinement.of("operators in float", before[gained], after[gained]))
        self._now, self._others_snr = measured, self._meter.others()
        return True

    def _balance_operands(self, operands: Sequence[GroupPart]) -> None:
        coarse_parts = self._coarse(operands)
        change = balance(operands)
        if change is None:
            return
        name = "balanced concatenations"
        if self._accept(name, self._meter.measure()):
            return
        change.undo()
        # An operand that has lost most of its steps counts even where the outputs do not show it.
        change = balance(coarse_parts)
        if change is not None and not self._accept(name, self._meter.measure(), -_LOSS):
            change.undo()

    def _coarse(self, operands: Sequence[GroupPart]) -> list[GroupPart]:
        """Operands of which little is left in the range that they share."""
        narrow = [part for part in operands if is_narrow(part)]
        if not narrow:
            return []
        places = {part.source for part in narrow}
        samples = self._deciding[: resolved_samples(self._prepared)]
        lossy = coarse(self._prepared, places, samples)
        return [part for part in narrow if part.source in lossy]

    def _separate_operands(self, operands: Sequence[GroupPart]) -> None:
        change = separate_operands(operands)
        if change is not None and not self._accept(
            "own ranges of joined operands", self._meter.measure()
        ):
            change.undo()

    def _separate_means(self, means: Sequence[GroupPart]) -> bool:
        if not means:
            return False
        least = MINIMAL_GAIN if _needs_own_runtime(self._prepared) else MINIMAL_GAIN_OF_OWN_RUNTIME
        change = separate_means(means)
        is_better = self._accept("own ranges of image means", self._meter.measure(), least)
        if not is_better:
            change.undo()
        return is_better

    def _choose_ranges(self, observations: Sequence[Observation]) -> None:
        scores = {}
        for share in _TAILS:
            self._leave_out(observations, share)
            scores[share] = self._meter.measure()
        best = max(scores, key=lambda share: scores[share].snr_db)
        self._leave_out(observations, best)
        name = f"ranges of {1 - 2 * best:.3%} of elements" if best else "whole ranges"
        if not self._accept(name, scores[best]):
            for each in observations:
                each.choose(each.searched)

    @staticmethod
    def _leave_out(observations: Sequence[Observation], share: float) -> None:
        for each in observations:
            each.choose(each.without_tails(share))

    def _equalise_layers(self) -> bool:
        layers = list(pairs(self._prepared))
        if not layers:
            return False
        change = equalise(self._simulation, layers, [*self._fitted, *self._deciding])
        is_better = self._accept("cross-layer equalisation", self._meter.measure())
        if not is_better:
            change.undo()
        return is_better

    def _compensate_roundings(self) -> None:
        layers = list(narrow_layers(self._prepared))
        if not layers:
            return
        compensate(self._simulation, layers, [*(self._fitted or self._deciding), *self._further])
        if not self._accept("compensated rounding of weights", self._meter.measure()):
            for layer in layers:
                layer.restore()

    def _compensate_short_roundings(self) -> None:
        layers = list(short_layers(self._prepared))
        if not layers:
            return
        before = self._now, self._others_snr, self._unseen_snr
        # These weights are rounded in the end: until then they are in float.
        for layer in layers:
            layer.round_alone()
        self._measure_all()
        samples = [*(self._fitted or self._deciding), *self._further]
        shares = SHARES_HELD[:1] if is_large(self._prepared) else SHARES_HELD
        tried = {}
        for held in shares:
            compensate_short(self._simulation, layers, samples, held)
            tried[held] = self._meter.measure().snr_db
        best = max(shares, key=tried.__getitem__)
        if best != held:
            compensate_short(self._simulation, layers, samples, best)
        if self._accept("compensated rounding of weights", self._meter.measure()):
            further = [*self._deciding, *self._unseen] if self._fitted else self._unseen
            compensate_short(self._simulation, layers, [*samples, *further], best)
            self._measure_all()
            return
        for layer in layers:
            layer.restore()
        self._now, self._others_snr, self._unseen_snr = before

    def _measure_all(self) -> None:
        self._now, self._others_snr = self._meter.measure(), self._meter.others()
        self._unseen_snr = self._meter.unseen()

    def _correct_biases(self) -> None:
        corrected = list(biases(self._prepared))
        if not corrected or not self._fitted:
            return
        correct(self._simulation, corrected, self._fitted)
        if not self._accept("bias correction", self._meter.measure()):
            for bias in corrected:
                bias.restore()

    def _accept(self, name: str, after: TriedOutputs, least: float | None = None) -> bool:
        if least is None:
            least = MINIMAL_FURTHER_GAIN if self._found else MINIMAL_GAIN
        if not after.snr_db >= self._now.snr_db + least:
            return False
        others = self._meter.others()
        if others < self._others_snr + min(least, 0.0) or not self._holds(least):
            return False
        self._found.append(Refinement.of(name, self._now.snr_db, after.snr_db))
        self._now, self._others_snr = after, others
        return True

    def _holds(self, least: float) -> bool:
        """Whether samples that were not tried gain at least half of what those that decide must."""
        if not self._unseen:
            return True
        unseen = self._meter.unseen()
        if unseen < self._unseen_snr + least * _HELD_GAIN:
            return False
        self._unseen_snr = unseen
        return True


def _needs_own_runtime(prepared: GraphModule) -> bool:
    """Whether some operator becomes one that ExecuTorch's runtime does not have."""
    return any(
        not QUANTIZED[node.target].is_portable
        for node in prepared.graph.nodes
        if node.target in QUANTIZED
    )
