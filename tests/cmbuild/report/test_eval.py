"""The forms of a model side by side, on the screen."""

from __future__ import annotations

from harness.results import fidelity

from cmbuild.accuracy import EvalResult, EvalRow
from cmbuild.report.eval import EvalReport
from cmcompiler.frontend.sample_origin import SampleOrigin


def screen(*rows: EvalRow) -> str:
    result = EvalResult(
        model="net",
        board="native",
        samples=200,
        inputs=SampleOrigin.DATA,
        detail="test.npz",
        sequence=None,
        forms=rows,
        layers=(),
        warnings=(),
    )
    return EvalReport(result).screen().plain


def row(form: str, **figures: object) -> EvalRow:
    return EvalRow(**{"form": form, "accuracy": None, "snr_db": None, "agreement": None, **figures})


def test_figures_that_no_form_has_get_no_column() -> None:
    shown = screen(row("reference", accuracy=0.9), row("device", accuracy=0.9))
    assert "accuracy" in shown
    assert "SNR" not in shown
    assert "agrees" not in shown


def test_figures_that_any_form_has_get_a_column() -> None:
    compared = fidelity(32.2, agreement=1.0, samples=200)
    figures = {"snr_db": 32.2, "agreement": 1.0, "outputs": compared.outputs}
    shown = screen(row("float"), row("reference", **figures))
    assert "accuracy" not in shown
    assert "SNR      largest output agrees with float's" in shown
    assert "reference  32.2 dB  100.0 %" in shown
