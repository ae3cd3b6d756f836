"""How close a program is to its float model, in words."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isinf

from cmbuild.accuracy import EvalResult, Fidelity, OutputFidelity
from cmbuild.text import plural
from cmcompiler.frontend.sample_origin import SampleOrigin


def fidelity_text(fidelity: Fidelity) -> str:
    """`SNR 23.9 dB, largest output agrees on 8 of 8 (calibration inputs, held out)`."""
    snr, several = noise(fidelity.outputs), len(fidelity.outputs)
    figures = [snr if isinf(fidelity.worst.snr_db) else f"SNR {snr}"]
    figures += [f"the worst of {several} outputs"] if several > 1 else []
    basis = basis_text(fidelity)
    told = ", ".join((*figures, _answers(fidelity)))
    return f"{told} ({basis})" if basis else told


def basis_text(figures: Fidelity | EvalResult) -> str:
    """Which inputs figures are measured on; empty for the samples of a model without state."""
    parts = [_origin(figures.inputs, figures.detail), _sequence(figures.samples, figures.sequence)]
    return "; ".join(filter(None, parts))


def noise(outputs: Sequence[OutputFidelity]) -> str:
    """`23.9 dB`; of several outputs the worst: `9.1 dB at boxes`."""
    worst = min(outputs, key=lambda output: output.snr_db)
    place = f" at {worst.name}" if len(outputs) > 1 and not isinf(worst.snr_db) else ""
    return f"{decibels(worst.snr_db)}{place}"


def decibels(snr_db: float) -> str:
    return "no error" if isinf(snr_db) and snr_db > 0 else f"{snr_db:.1f} dB"


def worst_element(outputs: Sequence[OutputFidelity]) -> str:
    """`off by 0.031 where float reaches 3.4`; of several outputs, that with the largest share."""
    worst = max(outputs, key=_relative_error)
    name = f"at {worst.name}, " if len(outputs) > 1 else ""
    error = "not finite" if worst.worst_error is None else f"off by {worst.worst_error:.2g}"
    return f"{name}{error} where float reaches {worst.largest:.3g}"


def _origin(inputs: SampleOrigin, detail: str) -> str:
    return {
        SampleOrigin.SAMPLES: "",
        SampleOrigin.DATA: detail,
        SampleOrigin.INPUT: "the given inputs",
        SampleOrigin.CALIBRATION: f"calibration inputs, {detail}",
        SampleOrigin.SYNTHETIC: f"made-up inputs: {detail}",
    }[inputs]


def _sequence(samples: int, whole: int | None) -> str:
    """`first 8 of a sequence of 1,500`; empty for a model without state."""
    if whole is None or whole < 2:
        return ""
    if samples < whole:
        return f"first {samples:,} of a sequence of {whole:,}"
    return f"a sequence of {whole:,}"


def _answers(fidelity: Fidelity) -> str:
    if fidelity.agreement is None:
        samples = plural(fidelity.samples, "sample")
        return f"worst element {worst_element(fidelity.outputs)}, on {samples}"
    agreeing = round(fidelity.agreement * fidelity.samples)
    what = "output equals float's" if fidelity.outputs[0].is_integer else "largest output agrees"
    return f"{what} on {agreeing:,} of {fidelity.samples:,}"


def _relative_error(output: OutputFidelity) -> float:
    if output.worst_error is None:
        return inf
    return output.worst_error / output.largest if output.largest else output.worst_error
