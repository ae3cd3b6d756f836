"""How close a quantised program is to its float model, and what looks suspicious."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmbuild.accuracy import Accuracy, Fidelity, OutputFidelity
from cmbuild.text import activations, percent, plural
from cmcompiler.frontend.sample_origin import SampleOrigin

if TYPE_CHECKING:
    from cmcompiler.frontend.job import CalibrationRecord
    from cmcompiler.ir.graph import Port
    from cmcompiler.plan.record import PortRecord

Array = npt.NDArray[Any]

METRIC = "top-1"

LOW_SNR = 20.0
"""Decibels; below this the error is at least a tenth of the signal."""

LEAST_SNR = -200.0
"""Decibels of an output that is all error, such as one that is all zeros in float."""

LOST_ACCURACY = 0.02
LOST_SAMPLES = 3
"""A larger drop in accuracy is a loss due to quantisation; a smaller one may be chance."""

FEW_SAMPLES = 8
SATURATED = 0.01
"""Share of the elements of an input outside of its calibrated range."""

# The smallest scale of the quantizer's observers: they saw nothing, or one value.
_NO_RANGE = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, slots=True)
class FidelityBasis:
    """The inputs that figures are measured on, and the way outputs are read.

    Attributes:
        inputs, detail, sequence: as of Fidelity.
        names: of the outputs.
        holds_classes: whether the only output has one number a class.
    """

    inputs: SampleOrigin
    detail: str
    sequence: int | None
    names: tuple[str, ...]
    holds_classes: bool


@dataclass(frozen=True, eq=False, slots=True)
class Outputs:
    """Outputs of the float model, the reference and the device for the same samples.

    Attributes:
        ports: of the program's outputs.
        labels: class of each sample, -1 where unknown; None without any.
        real: of the float model, for the first samples or all; None if not known.
        device: None where another set of samples ran there.
        basis: None for a program without a float model.
    """

    ports: Sequence[PortRecord]
    labels: Array | None
    real: Sequence[Array] | None
    reference: Sequence[Array]
    device: Sequence[Array] | None
    basis: FidelityBasis | None

    def accuracy(self) -> Accuracy | None:
        """Over the samples with a known class; None if there are none."""
        if self.labels is None or not self.reference or not np.any(self.labels >= 0):
            return None
        reference = top_1(self.reference[0], self.labels)
        assert reference is not None
        return Accuracy(
            metric=METRIC,
            float=None if self.real is None else top_1(self.real[0], self.labels),
            reference=reference,
            device=None if self.device is None else top_1(self.device[0], self.labels),
            samples=int(np.count_nonzero(self.labels >= 0)),
        )

    def fidelity(self) -> Fidelity | None:
        """Fidelity of the reference to the float model, where that is known."""
        if self.real is None or not self.reference or self.basis is None:
            return None
        count = len(self.real[0])
        reference = [stack[:count] for stack in self.reference]
        return compare(self.real, list(map(dequantized, reference, self.ports)), self.basis)


def compare(
    real: Sequence[Array], quantized: Sequence[Array], basis: FidelityBasis
) -> Fidelity | None:
    """Outputs beside those of the float model; None if it has none, or their shapes differ.

    Only elements that are finite in the float model count.
    """
    if [stack.shape for stack in real] != [stack.shape for stack in quantized] or not real:
        return None
    if real[0].size == 0:
        return None
    errors = list(map(OutputError.between, real, quantized))
    return Fidelity(
        snr_db=OutputError.total(errors).snr_db,
        agreement=_agreement(real, quantized, basis),
        samples=len(real[0]),
        inputs=basis.inputs,
        detail=basis.detail,
        sequence=basis.sequence,
        outputs=tuple(
            OutputFidelity(
                name=name,
                snr_db=error.snr_db,
                worst_error=error.worst if math.isfinite(error.worst) else None,
                largest=error.largest,
                is_integer=_is_integer(exact),
            )
            for name, error, exact in zip(basis.names, errors, real, strict=True)
        ),
    )


@dataclass(frozen=True, slots=True)
class OutputError:
    """Power of an output in float and of its error, over all elements of all samples.

    Attributes:
        worst: the largest absolute error.
        largest: the largest absolute element in float.
    """

    signal: float
    noise: float
    worst: float
    largest: float

    @classmethod
    def between(cls, real: Array, quantized: Array) -> OutputError:
        finite = np.isfinite(real)
        exact = real[finite].astype(np.float64)
        errors = np.abs(exact - quantized[finite].astype(np.float64))
        # Where only the quantised output is not a number, it is wrong without limit.
        errors[np.isnan(errors)] = math.inf
        return cls(
            float(np.square(exact).sum()),
            float(np.square(errors).sum()),
            float(errors.max(initial=0.0)),
            float(np.abs(exact).max(initial=0.0)),
        )

    @classmethod
    def total(cls, errors: Sequence[OutputError]) -> OutputError:
        """The error of several outputs together."""
        return cls(
            sum(error.signal for error in errors),
            sum(error.noise for error in errors),
            max(error.worst for error in errors),
            max(error.largest for error in errors),
        )

    @property
    def snr_db(self) -> float:
        """Infinite without any error; never less than LEAST_SNR."""
        if self.noise == 0:
            return math.inf
        if self.signal == 0 or math.isinf(self.noise):
            return LEAST_SNR
        return max(LEAST_SNR, 10 * math.log10(self.signal / self.noise))


def _agreement(
    real: Sequence[Array], quantized: Sequence[Array], basis: FidelityBasis
) -> float | None:
    """The share of samples with the same answer; None if the model does not give one."""
    if len(real) != 1:
        return None
    (exact,), (other,) = real, quantized
    if _is_integer(exact):
        same = (exact == other).reshape(len(exact), -1).all(axis=1)
        return float(np.mean(same))
    if not basis.holds_classes:
        return None
    return float(np.mean(_largest(exact) == _largest(other)))


def _is_integer(stack: Array) -> bool:
    return stack.dtype.kind in "iub"


def top_1(scores: Array, labels: Array) -> float | None:
    """The share of the samples whose largest score is that of their label."""
    known = np.flatnonzero(labels[: len(scores)] >= 0)
    if len(known) == 0:
        return None
    return float(np.mean(_largest(scores[known]) == labels[known]))


def dequantized(array: Array, port: PortRecord | Port) -> Array:
    """Quantised numbers as the real values they represent; others unchanged."""
    scheme = port.quantization
    if array.dtype.kind == "f" or scheme is None:
        return array
    return (array.astype(np.float64) - scheme.zero_point) * scheme.scale


def warnings(
    accuracy: Accuracy | None,
    fidelity: Fidelity | None,
    calibration: CalibrationRecord | None,
    inputs: Sequence[tuple[PortRecord, Array]],
    outputs: Sequence[PortRecord],
) -> Iterator[str]:
    """Warnings about a run that may be verified and yet useless.

    Args:
        inputs: with the samples of each.
    """
    if accuracy is not None and accuracy.float is not None:
        lost = accuracy.float - accuracy.reference
        if lost > LOST_ACCURACY and lost * accuracy.samples > LOST_SAMPLES - 0.5:
            schemes = [port.quantization for port in (*(port for port, _ in inputs), *outputs)]
            name = activations(None if each is None else each.activations for each in schemes)
            yield (
                f"quantisation costs accuracy: float {percent(accuracy.float)}, "
                f"{name} {percent(accuracy.reference)}"
            )
    if fidelity is not None and (worst := fidelity.worst).snr_db < LOW_SNR:
        place = f"output {worst.name}: " if len(fidelity.outputs) > 1 else ""
        on = ", on made-up inputs" if fidelity.inputs is SampleOrigin.SYNTHETIC else ""
        yield f"{place}SNR {worst.snr_db:.1f} dB against float{on}: below {LOW_SNR:.0f} dB"
    for port in outputs:
        scheme = port.quantization
        if scheme is not None and scheme.scale <= _NO_RANGE:
            yield (
                f"output {port.name} has collapsed: scale {scheme.scale:.2g}, since calibration "
                "saw nothing but zeros there"
            )
    if calibration is not None and calibration.samples + calibration.held_out < FEW_SAMPLES:
        yield (
            f"calibrated on {plural(calibration.samples, 'sample')} ({calibration.detail}); "
            f"use {FEW_SAMPLES} or more that look like the device's inputs: --calibration"
        )
    for port, stack in inputs:
        if (share := _saturated(stack, port)) > SATURATED:
            yield (
                f"{percent(share)} of the samples' input {port.name} is outside of the calibrated "
                f"range {_range(port)}"
            )


def _largest(stack: Array) -> Array:
    return np.asarray(np.argmax(stack.reshape(len(stack), -1), axis=1))


def _saturated(stack: Array, port: PortRecord) -> float:
    """The share of elements that quantisation clips; for integers, at the ends of the range."""
    scheme = port.quantization
    if scheme is None or stack.size == 0:
        return 0.0
    least, most = scheme.minimum, scheme.maximum
    if stack.dtype.kind != "f":
        return 0.0
    steps = stack.astype(np.float64) / scheme.scale + scheme.zero_point
    return float(np.mean((steps < least - 1) | (steps > most + 1)))


def _range(port: PortRecord) -> str:
    scheme = port.quantization
    assert scheme is not None
    ends = ((end - scheme.zero_point) * scheme.scale for end in (scheme.minimum, scheme.maximum))
    return " to ".join(f"{end:.3g}" for end in ends)
