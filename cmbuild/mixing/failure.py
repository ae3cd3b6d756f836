"""Needs that no mix of precisions meets."""

from __future__ import annotations

from cmbuild.display.mixture import MixResult, NeedOutcome
from cmbuild.errors import Failed


class NeedsNotMet(Failed):
    """No mix of precisions is within what the user needs.

    Attributes:
        result: the nearest one.
    """

    template = "no mix of precisions keeps {asked}: the nearest has {has}"
    hint = "ask for less, or train with rounding: docs/accuracy.md"

    def __init__(self, result: MixResult) -> None:
        self.result = result
        missed = [need for need in result.needs if not need.met]
        asked = " and ".join(f"{need.option} {amount(need, need.asked)}" for need in missed)
        super().__init__(asked=asked, has=" and ".join(amount(need, need.has) for need in missed))


class FilesChanged(Failed):
    """A program that was just exported is not that of today's files."""

    template = "files of {model} or of cmbuild changed while its precision was chosen"
    hint = "run it again"


def amount(need: NeedOutcome, value: float) -> str:
    """A value of a need with its unit: `31.5 dB`, `0.50%`, `262,144 bytes`."""
    if need.option == "--snr":
        return f"{value:.1f} dB"
    return f"{value:.2%}" if need.option == "--accuracy-drop" else f"{value:,.0f} bytes"
