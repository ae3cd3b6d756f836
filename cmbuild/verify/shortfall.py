"""Whether a program keeps what its user wants kept of the float model: `--min-snr`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cmbuild.accuracy import Faithfulness, OutputFidelity
from cmbuild.errors import Failed
from cmbuild.verify.faithfulness import place

_NAMED = 3
"""Layers and outputs in the message, the worst."""


_WHERE = "`cmbuild eval MODEL --sensitivity`, which shows what each operator costs"


class BelowLeast(Failed):
    template = "{worst}, below --min-snr {least:g}{cause}{others}"


class NotCompared(Failed):
    template = "--min-snr {least:g} is not checked: {reason}"


def shortfall(
    check: Faithfulness, outputs: Sequence[OutputFidelity], least: float | None
) -> Failed | None:
    """The failure of a program of which rounding leaves less than it may.

    Layers come first, since they have a cause: each is measured by itself, outputs as a whole.

    Args:
        outputs: empty if the float model's are not known.
        least: dB; None for no limit.
    """
    if least is None:
        return None
    if check.faithful is None:
        reason = check.reason or "no layer has a counterpart in a float model"
        return NotCompared(least=least, reason=reason)
    coarse = [layer for layer in check.coarse if layer.snr_db < least]
    low = sorted((each for each in outputs if each.snr_db < least), key=lambda each: each.snr_db)
    if not coarse and not low:
        return None
    told = [f"{place(layer)} keeps {layer.snr_db:.3g} dB" for layer in coarse]
    told += [f"output {output.name} has {output.snr_db:.3g} dB against float" for output in low]
    return BelowLeast(
        worst=told[0],
        least=least,
        cause=f": {coarse[0].cause}" if coarse else "",
        others="".join(_others(told[1:])),
        hint=coarse[0].remedy if coarse else _WHERE,
    )


def _others(told: Sequence[str]) -> Iterator[str]:
    yield from (f"; {each}" for each in told[: _NAMED - 1])
    if more := told[_NAMED - 1 :]:
        yield f"; and {len(more):,} more"
