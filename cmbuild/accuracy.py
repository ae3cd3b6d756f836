"""Results: how near a program comes to its float model, and what of it is in float."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cmbuild.display.decibels import Decibels
from cmbuild.display.mixture import MixResult
from cmbuild.display.tables import HtmlTable
from cmcompiler.frontend.sample_origin import SampleOrigin

Share: TypeAlias = float
"""From 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """The share of labelled samples that got their label.

    Attributes:
        metric: `top-1`.
        float: of the float model; None if unknown for these samples.
        reference: of the int8 reference.
        device: None if other samples ran there.
        samples: number with a label.
    """

    metric: str
    float: Share | None
    reference: Share
    device: Share | None
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFidelity:
    """One layer of a program beside the float model, on the program's own inputs.

    Attributes:
        name: operator, and the module that calls it: `conv2d (blocks.0)`.
        file, line: where.
        error_steps: the largest error, in steps of the layer's result.
        bound_steps: the largest that its arithmetic allows.
        snr_db: of the layer alone; infinite without any error, which is null in JSON.
        clipped: the share of elements beyond the calibrated range by more than a step.
        resolution_db: what rounding its operands, weights and result alone leaves of it; None
            where nothing is lost or not known.
    """

    name: str
    file: str | None
    line: int | None
    error_steps: float
    bound_steps: float
    snr_db: Decibels
    clipped: Share
    resolution_db: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoarseLayer:
    """A layer, and what rounding leaves of it.

    Attributes:
        name: operator, and the module that calls it: `softmax (attend)`.
        file, line: where.
        snr_db: of its result with nothing but its operands, weights and result rounded; of a state
            that stalls, what rounding leaves of its updates.
        cause: why it is no more, in words.
        remedy: what would change that.
    """

    name: str
    file: str | None
    line: int | None
    snr_db: float
    cause: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Faithfulness:
    """Whether every layer of a program computes what the float model does.

    Attributes:
        faithful: None where nothing could be compared.
        layers: in the order of the program.
        unpaired: instructions without a counterpart in the float model.
        faults: what is not faithful, each with an example, in words.
        warnings: layers and states that are faithful and yet keep little, in words.
        reason: why nothing could be compared; else None.
        coarse: layers and states of which rounding takes anything, the worst first.
    """

    faithful: bool | None
    layers: tuple[LayerFidelity, ...] = ()
    unpaired: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reason: str | None = None
    coarse: tuple[CoarseLayer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFidelity:
    """How close one output of the int8 reference is to the float model's.

    Attributes:
        name: key or field of what the module returns; the program's name for one without.
        snr_db: like that of Fidelity, over the elements of this output.
        worst_error: the largest absolute error of an element; None if it is not finite.
        largest: the largest absolute element in float.
        is_integer: whether it holds integers or truth values, not real numbers.
    """

    name: str
    snr_db: Decibels
    worst_error: float | None
    largest: float
    is_integer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """How close the int8 reference is to the float model.

    Attributes:
        snr_db: the power of the float outputs over that of the error, all elements of all samples;
            infinite without any error, which is null in JSON.
        agreement: the share of samples with the same answer: the largest element of an output that
            holds one number a class, or all of an output of integers. None if the model gives no
            such answer.
        samples: compared.
        inputs: where these come from.
        detail: describes them for people.
        sequence: samples in the whole sequence, for a model with state; None without state.
        outputs: each output by itself.
        layers: see Faithfulness.
        coarsest: the layer or state of which rounding leaves least; None if it takes nothing.
    """

    snr_db: Decibels
    agreement: Share | None
    samples: int
    inputs: SampleOrigin
    detail: str
    sequence: int | None
    outputs: tuple[OutputFidelity, ...]
    layers: tuple[LayerFidelity, ...] = ()
    coarsest: CoarseLayer | None = None

    @property
    def worst(self) -> OutputFidelity:
        """The output with the lowest SNR."""
        return min(self.outputs, key=lambda output: output.snr_db)


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatCall:
    """A call in the user's source that became operators in float.

    Attributes:
        name: operator, and the module that calls it: `conv1d (blocks.0)`.
        file, line: None for a program whose source is not known.
        reason: why it is in float.
        hint: what would quantise it.
    """

    name: str
    file: str | None
    line: int | None
    reason: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatUse:
    """The part of a program that computes in float.

    Attributes:
        share: of the instructions, without the conversions at the program's inputs and outputs.
        estimated: from the plan, where no instructions were counted.
        operators: the most expensive first.
    """

    share: Share
    estimated: bool
    operators: tuple[FloatCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRow:
    """How well one form of a model does on the samples.

    Attributes:
        form: `float`, `fake-quantised`: as torch computes it; `reference`, `device`.
        accuracy: top-1, where there are labels.
        snr_db, agreement: against float, as of Fidelity; None for float itself.
        outputs: each output by itself; empty for float itself.
        interval: that holds the true accuracy with 95 % confidence, on a data set.
    """

    form: str
    accuracy: Share | None
    snr_db: Decibels | None
    agreement: Share | None
    interval: tuple[Share, Share] | None = None
    outputs: tuple[OutputFidelity, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCost:
    """Cost of quantising one operator alone.

    Attributes:
        name: operator, and the module that calls it: `conv2d (blocks.0)`.
        file, line: where.
        snr_db: of the model's outputs with nothing else quantised, on calibration samples.
    """

    name: str
    file: str | None
    line: int | None
    snr_db: Decibels


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalResult(HtmlTable):
    """The forms of a model side by side.

    Attributes:
        board: of the device; None without one.
        samples: that all forms computed.
        inputs, detail, sequence: which these are, as of Fidelity.
        layers: the most sensitive first; empty if not asked for.
        faithfulness: of every layer of the program; None on a data set.
        mix: how the precision of modules was chosen; None if it was not, by need.
    """

    COLUMNS = ("form", "accuracy", "snr_db", "agreement")

    model: str
    board: str | None
    samples: int
    inputs: SampleOrigin
    detail: str
    sequence: int | None
    forms: tuple[EvalRow, ...]
    layers: tuple[LayerCost, ...]
    warnings: tuple[str, ...]
    faithfulness: Faithfulness | None = None
    mix: MixResult | None = None

    def rows(self) -> tuple[EvalRow, ...]:
        return self.forms
