"""How close a quantised program is to its float model, and what looks suspicious."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmbuild.accuracy import Accuracy, Fidelity
from cmbuild.text import percent, plural

if TYPE_CHECKING:
    from cmcompiler.frontend.job import CalibrationRecord
    from cmcompiler.plan.record import PortRecord

Array = npt.NDArray[Any]

METRIC = "top-1"

LOW_SNR = 20.0
"""Decibels; below this the error is at least a tenth of the signal."""

LOST_ACCURACY = 0.02
LOST_SAMPLES = 3
"""A larger drop in accuracy is a loss due to quantisation; a smaller one may be chance."""

FEW_SAMPLES = 8
SATURATED = 0.01
"""Share of the elements of an input outside of its calibrated range."""

# The smallest scale of the quantizer's observers: they saw nothing, or one value.
_NO_RANGE = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, eq=False, slots=True)
class Outputs:
    """Outputs of the float model, the reference and the device for the same samples.

    Attributes:
        ports: of the program's outputs.
        labels: class of each sample, -1 where unknown; None without any.
        real: of the float model, for the first samples or all; None if not known.
        device: None where another set of samples ran there.
    """

    ports: Sequence[PortRecord]
    labels: Array | None
    real: Sequence[Array] | None
    reference: Sequence[Array]
    device: Sequence[Array] | None

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
        """Of the reference to the float model, where that is known."""
        if self.real is None or not self.reference:
            return None
        count = len(self.real[0])
        reference = [stack[:count] for stack in self.reference]
        return compare(self.real, list(map(dequantized, reference, self.ports)))


def compare(real: Sequence[Array], found: Sequence[Array]) -> Fidelity | None:
    """Outputs beside those of the float model; None if it has none, or their shapes differ.

    Only elements that are finite in the float model count.
    """
    if [stack.shape for stack in real] != [stack.shape for stack in found] or not real:
        return None
    if real[0].size == 0:
        return None
    signal = noise = 0.0
    for wanted, got in zip(real, found, strict=True):
        finite = np.isfinite(wanted)
        exact = wanted[finite].astype(np.float64)
        signal += float(np.square(exact).sum())
        noise += float(np.square(exact - got[finite]).sum())
    snr = math.inf if noise == 0 else -math.inf
    if signal > 0 and noise > 0:
        snr = 10 * math.log10(signal / noise)
    same = _largest(real[0]) == _largest(found[0])
    return Fidelity(snr_db=snr, agreement=float(np.mean(same)), samples=len(same))


def top_1(scores: Array, labels: Array) -> float | None:
    """The share of the samples whose largest score is that of their label."""
    known = np.flatnonzero(labels[: len(scores)] >= 0)
    if len(known) == 0:
        return None
    return float(np.mean(_largest(scores[known]) == labels[known]))


def dequantized(array: Array, port: PortRecord) -> Array:
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
            yield (
                f"quantisation costs accuracy: float {percent(accuracy.float)}, "
                f"int8 {percent(accuracy.reference)}"
            )
    if fidelity is not None and fidelity.snr_db < LOW_SNR:
        yield f"SNR {fidelity.snr_db:.1f} dB against float: below {LOW_SNR:.0f} dB"
    for port in outputs:
        scheme = port.quantization
        if scheme is not None and scheme.scale <= _NO_RANGE:
            yield (
                f"output {port.name} has collapsed: scale {scheme.scale:.2g}, since calibration "
                "saw nothing but zeros there"
            )
    if calibration is not None and calibration.samples < FEW_SAMPLES:
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
