"""Requests with and without needs, and the failure of those that nothing meets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cmbuild.catalog import find_board
from cmbuild.display.mixture import MixedPart, MixResult, NeedOutcome
from cmbuild.errors import ExitCode, UsageError
from cmbuild.mixing.failure import NeedsNotMet
from cmbuild.mixing.pricing import Prices
from cmbuild.mixing.settling import settled
from cmbuild.mixing.trial import decibels
from cmbuild.pipeline.needs import Needs
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.request import BuildRequest
from cmbuild.report.mix import mix_lines
from cmcompiler.ir.work import Work
from cmcompiler.isa import Isa

MIX = MixResult(
    precision={"*": "8w8a", "head": "8w16a"},
    parts=(
        MixedPart("body", "8w8a", 41.5, 120_000, 4_000),
        MixedPart("head", "8w16a", 60.25, 30_000, 900),
    ),
    needs=(
        NeedOutcome("--snr", 50.0, 44.25, False),
        NeedOutcome("--flash-budget", 262_144, 262_400, False),
        NeedOutcome("--accuracy-drop", 0.005, 0.0, True),
    ),
    samples=12,
    cycles=150_000,
    plain_cycles=120_000,
    tried=3,
    core="cortex-m33",
)


def test_a_request_without_needs_stays_as_it_is() -> None:
    request = compose(BuildRequest, model="mlp", board="native")
    pipeline: Any = SimpleNamespace(chosen=lambda source: source)
    nothing: Any = None
    assert settled(request, pipeline, nothing) is request


def test_needs_are_told_as_they_are_typed() -> None:
    needs = Needs(snr=35, accuracy_drop="0.5%", flash_budget="256K")
    assert needs.options == ("--snr", "--accuracy-drop", "--flash-budget")
    assert needs.drop == 0.005 and needs.flash == 262_144
    assert Needs().options == () and Needs().drop is None and Needs().flash is None
    with pytest.raises(UsageError, match="--snr -3 is not a level above 0 dB"):
        Needs(snr=-3)


def test_what_is_missed_is_in_the_error() -> None:
    error = NeedsNotMet(MIX)
    assert error.exit_code is ExitCode.FAILED and not MIX.met
    assert error.message == (
        "no mix of precisions keeps --snr 50.0 dB and --flash-budget 262,144 bytes: "
        "the nearest has 44.2 dB and 262,400 bytes"
    )


def test_the_screen_has_each_module_and_what_to_keep() -> None:
    text = "\n".join(mix_lines(MIX))
    assert "✗ --snr 50.0 dB: 44.2 dB" in text and "✓ --accuracy-drop 0.50%: 0.00%" in text
    assert "cycles predicted for cortex-m33, +25.0%" in text
    assert "8w16a      60.2 dB" in text and text.index("body") < text.index("head")
    assert '{"*" = "8w8a", "head" = "8w16a"}' in text


def test_prices_are_the_cores_or_those_of_one_like_it() -> None:
    own = Prices.of(find_board("rp2350"), Isa.DSP)
    assert own.core == "cortex-m33" and 0 < own.conversion < 100
    other = Prices.of(find_board("native"), Isa.SCALAR)
    assert other.core == "cortex-m0plus"
    assert other.cycles("a_kernel_without_a_price", Work(outputs=10)) == 400


def test_decibels_are_those_of_the_worst_output() -> None:
    assert decibels((1e-4, 1e-3)) == pytest.approx(30)
    assert decibels((0.0,)) == float("inf")
