"""What `--min-snr` demands of layers and outputs."""

from __future__ import annotations

import math

import pytest

from cmbuild.accuracy import CoarseLayer, Faithfulness, OutputFidelity
from cmbuild.errors import ExitCode
from cmbuild.verify.shortfall import shortfall

FINE = Faithfulness(faithful=True)


def layer(name: str, snr_db: float, line: int | None = 21) -> CoarseLayer:
    return CoarseLayer(
        name=name,
        file=None if line is None else "/home/me/net.py",
        line=line,
        snr_db=snr_db,
        cause="its logits span 10,000 in 255 steps",
        remedy="scale or clamp before it",
    )


def output(name: str, snr_db: float) -> OutputFidelity:
    return OutputFidelity(name=name, snr_db=snr_db, worst_error=0.1, largest=1.0)


def coarse(*layers: CoarseLayer) -> Faithfulness:
    return Faithfulness(faithful=True, coarse=layers)


def test_a_layer_below_the_limit_is_named_with_its_cause_and_what_would_mend_it() -> None:
    failure = shortfall(coarse(layer("softmax (attend)", 2.34), layer("mul", 20.0)), (), 20)
    assert failure is not None
    assert failure.exit_code == ExitCode.FAILED
    assert failure.message == (
        "softmax (attend) at net.py:21 keeps 2.34 dB, below --min-snr 20: its logits span 10,000 "
        "in 255 steps"
    )
    assert failure.hint == "scale or clamp before it"


def test_the_worst_are_named_and_others_counted() -> None:
    check = coarse(*(layer("mul", decibels, None) for decibels in (1.0, 2.0, 3.0, 19.96)))
    failure = shortfall(check, (output("boxes", -3.2), output("classes", math.inf)), 20)
    assert failure is not None
    assert failure.message.startswith("mul keeps 1 dB, below --min-snr 20: its logits")
    assert failure.message.endswith("; mul keeps 2 dB; mul keeps 3 dB; and 2 more")


def test_an_output_below_the_limit() -> None:
    outputs = (output("classes", 19.0), output("boxes", 12.34))
    failure = shortfall(FINE, outputs, 19.5)
    assert failure is not None
    assert failure.message == (
        "output boxes has 12.3 dB against float, below --min-snr 19.5; output classes has 19 dB "
        "against float"
    )
    assert "--sensitivity" in str(failure.hint)


@pytest.mark.parametrize("least", [None, 20.0])
def test_what_keeps_enough_does_not_fail(least: float | None) -> None:
    check = coarse(layer("mul", 20.0))
    assert shortfall(check, (output("y", 20.0), output("z", math.inf)), least) is None


def test_a_limit_that_nothing_is_compared_with_fails() -> None:
    unknown = Faithfulness(faithful=None, reason="the export does not know cumsum")
    assert shortfall(unknown, (), None) is None
    failure = shortfall(unknown, (), 20)
    assert failure is not None
    assert failure.message == "--min-snr 20 is not checked: the export does not know cumsum"
