"""How close a program is to its float model, in words."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from harness.results import fidelity

from cmbuild.accuracy import Fidelity
from cmbuild.report.fidelity import fidelity_text
from cmcompiler.frontend.sample_origin import SampleOrigin

ONE = fidelity(32.2, agreement=1.0, samples=90)


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        (ONE, "SNR 32.2 dB, largest output agrees on 90 of 90"),
        (
            replace(ONE, inputs=SampleOrigin.CALIBRATION, detail="held out"),
            "SNR 32.2 dB, largest output agrees on 90 of 90 (calibration inputs, held out)",
        ),
        (
            replace(ONE, inputs=SampleOrigin.SYNTHETIC, detail="the example and its shuffles"),
            "SNR 32.2 dB, largest output agrees on 90 of 90 "
            "(made-up inputs: the example and its shuffles)",
        ),
        (
            replace(ONE, inputs=SampleOrigin.INPUT),
            "SNR 32.2 dB, largest output agrees on 90 of 90 (the given inputs)",
        ),
        (
            replace(ONE, inputs=SampleOrigin.DATA, detail="test.npz"),
            "SNR 32.2 dB, largest output agrees on 90 of 90 (test.npz)",
        ),
        (
            fidelity(32.2),
            "SNR 32.2 dB, worst element off by 0.031 where float reaches 3.4, on 8 samples",
        ),
        (
            fidelity(60.0, 9.1, 30.0),
            "SNR 9.1 dB at z, the worst of 3 outputs, worst element at y, off by 0.031 where float "
            "reaches 3.4, on 8 samples",
        ),
        (
            fidelity(32.2, sequence=1500, inputs=SampleOrigin.CALIBRATION, detail="held out"),
            "SNR 32.2 dB, worst element off by 0.031 where float reaches 3.4, on 8 samples "
            "(calibration inputs, held out; first 8 of a sequence of 1,500)",
        ),
        (
            fidelity(32.2, agreement=1.0, sequence=8),
            "SNR 32.2 dB, largest output agrees on 8 of 8 (a sequence of 8)",
        ),
        (
            fidelity(math.inf, agreement=1.0, samples=3),
            "no error, largest output agrees on 3 of 3",
        ),
    ],
)
def test_a_figure_says_what_it_is_of(figures: Fidelity, words: str) -> None:
    assert fidelity_text(figures) == words


def test_integers_are_equal_or_not() -> None:
    (output,) = ONE.outputs
    integers = replace(ONE, outputs=(replace(output, is_integer=True),), agreement=0.5)
    assert fidelity_text(integers) == "SNR 32.2 dB, output equals float's on 45 of 90"
