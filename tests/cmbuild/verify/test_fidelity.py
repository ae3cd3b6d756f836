"""Outputs beside those of the float model: the figures, and what is worth a warning."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from harness.results import fidelity

from cmbuild.accuracy import Accuracy
from cmbuild.verify.fidelity import (
    LEAST_SNR,
    FidelityBasis,
    Outputs,
    compare,
    dequantized,
    top_1,
    warnings,
)
from cmcompiler.frontend.job import CalibrationRecord
from cmcompiler.frontend.sample_origin import SampleOrigin
from cmcompiler.ir.quantization import Quantization
from cmcompiler.plan.record import PlaceRecord, PortRecord

MANY = CalibrationRecord(samples=100, detail="kws.npz")

CLASSES = FidelityBasis(SampleOrigin.SAMPLES, "", None, ("y",), holds_classes=True)
REALS = FidelityBasis(SampleOrigin.CALIBRATION, "held out", 40, ("boxes", "scores"), False)


def port(dtype: str = "float32", scale: float = 0.5, zero_point: int = 10) -> PortRecord:
    return PortRecord(
        name="y",
        shape=(1, 4),
        dim_order=(0, 1),
        layout="contiguous",
        dtype=dtype,
        quantization=Quantization(scale, zero_point, -128, 127),
        note="",
        place=PlaceRecord(base="arena", offset=0, bytes=4),
        exact=True,
    )


def accuracy(real: float | None, reference: float, samples: int) -> Accuracy:
    return Accuracy(metric="top-1", float=real, reference=reference, device=None, samples=samples)


def test_noise_is_of_all_elements_of_all_outputs_and_samples() -> None:
    real = [np.full((4, 1, 2), 10.0, np.float32), np.zeros((4, 1, 3), np.float32)]
    actual = [real[0] + np.float32(1), real[1] - np.float32(1)]
    figures = compare(real, actual, REALS)
    assert figures is not None
    assert figures.snr_db == pytest.approx(10 * math.log10(8 * 100 / (8 + 12)))
    assert (figures.agreement, figures.samples) == (None, 4)
    origin = (figures.inputs, figures.detail, figures.sequence)
    assert origin == (SampleOrigin.CALIBRATION, "held out", 40)


def test_an_output_that_is_all_wrong_does_not_hide_behind_a_large_one() -> None:
    real = [np.full((4, 1, 2), 1000.0, np.float32), np.ones((4, 1, 3), np.float32)]
    figures = compare(real, [real[0] + np.float32(1), -real[1]], REALS)
    assert figures is not None
    assert figures.snr_db > 50
    boxes, scores = figures.outputs
    assert (boxes.name, boxes.worst_error, boxes.largest) == ("boxes", 1.0, 1000.0)
    assert figures.worst is scores
    assert (scores.name, scores.worst_error, scores.largest) == ("scores", 2.0, 1.0)
    assert (boxes.snr_db, scores.snr_db) == pytest.approx((60, -6.02), abs=0.01)
    (warning,) = warnings(None, figures, MANY, (), ())
    assert warning == "output scores: SNR -6.0 dB against float: below 20 dB"


def test_outputs_that_are_zero_or_become_infinite_are_all_error() -> None:
    zero, one = np.zeros((1, 2), np.float32), np.ones((1, 2), np.float32)
    for exact, quantized in ((zero, one), (one, one * np.inf), (one, one * np.nan)):
        figures = compare([exact], [quantized], CLASSES)
        assert figures is not None
        assert (figures.snr_db, figures.outputs[0].snr_db) == (LEAST_SNR, LEAST_SNR)
    assert figures.outputs[0].worst_error is None


def test_the_largest_element_of_each_sample_agrees_or_not() -> None:
    real = [np.array([[[1.0, 2, 3]], [[3, 2, 1]], [[0, 9, 0]], [[5, 4, 4]]], np.float32)]
    actual = [np.array([[[1.0, 2, 3]], [[1, 2, 3]], [[0, 1, 0]], [[4, 5, 4]]], np.float32)]
    figures = compare(real, actual, CLASSES)
    assert figures is not None
    assert figures.agreement == 0.5
    other = compare(real, actual, replace(CLASSES, holds_classes=False))
    assert other is not None
    assert other.agreement is None


def test_integers_agree_where_all_of_a_sample_are_equal() -> None:
    real = np.array([[[1, 2]], [[3, 4]], [[5, 6]], [[7, 8]]])
    figures = compare([real], [np.where(real == 4, 0, real)], replace(CLASSES, holds_classes=False))
    assert figures is not None
    assert figures.agreement == 0.75
    assert figures.outputs[0].is_integer


def test_infinite_outputs_do_not_count_and_equal_ones_have_no_noise() -> None:
    real = [np.array([[-np.inf, 2.0, np.nan]], np.float32)]
    figures = compare(real, [np.array([[-100.0, 2.0, 0.0]], np.float32)], CLASSES)
    assert figures is not None
    assert figures.snr_db == math.inf


def test_outputs_of_other_shapes_cannot_be_compared() -> None:
    one, two = np.zeros((1, 2), np.float32), np.zeros((1, 3), np.float32)
    assert compare([one], [two], CLASSES) is None
    assert compare([one], [one, one], CLASSES) is None
    assert compare([], [], CLASSES) is None


def test_quantised_outputs_stand_for_real_ones() -> None:
    stored = np.array([[-128, 10, 12]], np.int8)
    assert dequantized(stored, port("int8")).tolist() == [[-69.0, 0.0, 1.0]]
    real = np.array([[0.25]], np.float32)
    assert dequantized(real, port()) is real


def test_accuracy_is_over_the_samples_with_a_label() -> None:
    labels = np.array([2, -1, 0])
    scores = np.array([[[0, 0, 1]], [[1, 0, 0]], [[0, 1, 0]]], np.int8)
    assert top_1(scores, labels) == 0.5
    assert top_1(scores[:1], labels) == 1.0
    assert top_1(scores, np.array([-1, -1, -1])) is None


def test_figures_of_float_reference_and_device() -> None:
    labels = np.array([2, 1, -1])
    right = np.array([[[0, 0, 1]], [[0, 1, 0]], [[1, 0, 0]]], np.int8)
    wrong = np.roll(right, 1, axis=2)
    real = [right[:2].astype(np.float32)]
    outputs = Outputs([port("int8", 1.0, 0)], labels, real, [wrong], [right], CLASSES)
    assert outputs.accuracy() == Accuracy(
        metric="top-1", float=1.0, reference=0.0, device=1.0, samples=2
    )
    figures = outputs.fidelity()
    assert figures is not None
    assert (figures.samples, figures.agreement) == (2, 0.0)
    unknown = Outputs([port("int8")], None, None, [wrong], None, None)
    assert (unknown.accuracy(), unknown.fidelity()) == (None, None)


def test_a_clear_loss_of_accuracy_warns_with_both() -> None:
    (warning,) = warnings(accuracy(0.978, 0.216, 360), None, MANY, (), ())
    assert warning == "quantisation costs accuracy: float 97.8 %, int8 21.6 %"
    short = port().model_copy(update={"quantization": Quantization(0.5, 0, -32768, 32767)})
    (warning,) = warnings(accuracy(0.978, 0.216, 360), None, MANY, (), (short,))
    assert warning == "quantisation costs accuracy: float 97.8 %, int16 21.6 %"


@pytest.mark.parametrize(
    "figures",
    [accuracy(0.978, 0.972, 360), accuracy(1.0, 0.9, 10), accuracy(None, 0.1, 360), None],
    ids=["small", "chance", "no float", "no labels"],
)
def test_other_accuracies_do_not(figures: Accuracy | None) -> None:
    assert list(warnings(figures, None, MANY, (), ())) == []


def test_much_noise_warns() -> None:
    low, fine = (fidelity(snr, agreement=1.0, samples=3) for snr in (19.9, 20.0))
    (warning,) = warnings(None, low, MANY, (), ())
    assert warning == "SNR 19.9 dB against float: below 20 dB"
    made_up = replace(low, inputs=SampleOrigin.SYNTHETIC)
    (warning,) = warnings(None, made_up, MANY, (), ())
    assert warning == "SNR 19.9 dB against float, on made-up inputs: below 20 dB"
    assert list(warnings(None, fine, MANY, (), ())) == []


def test_an_output_whose_range_has_collapsed_warns() -> None:
    (warning,) = warnings(None, None, MANY, (), [port("int8", 1.1920928955078125e-07), port()])
    assert warning.startswith("output y has collapsed: scale 1.2e-07")


def test_few_calibration_samples_warn() -> None:
    two = CalibrationRecord(samples=2, detail="two.npz")
    (warning,) = warnings(None, None, two, (), ())
    assert warning.startswith("calibrated on 2 samples (two.npz)")
    assert list(warnings(None, None, None, (), ())) == []
    split = CalibrationRecord(samples=6, held_out=2, detail="eight.npz")
    assert list(warnings(None, None, split, (), ())) == []


def test_samples_beyond_the_calibrated_range_warn() -> None:
    inside = np.linspace(-69, 58.5, 400, dtype=np.float32).reshape(100, 1, 4)
    assert list(warnings(None, None, MANY, [(port(), inside)], ())) == []
    (warning,) = warnings(None, None, MANY, [(port(), 2 * inside)], ())
    assert warning == (
        "49.8 % of the samples' input y is outside of the calibrated range -69 to 58.5"
    )
