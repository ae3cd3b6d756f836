"""The precision of each module as chosen by need, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.display.mixture import MixedPart, MixResult, NeedOutcome
from cmbuild.mixing.failure import amount
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import ResultDocument, document_of
from cmbuild.report.text import entry, indented, table
from cmbuild.text import count, plural

_HEADER = ("precision", "alone", "cycles", "bytes", "layer")
_MOST = 12
"""Rows on the screen: those of int8 are left out first."""


MixDocument = document_of(
    MixResult,
    "build",
    "debug",
    "explain",
    "flash",
    "run",
    text="The nearest mix, where none is within the needs.",
)


@dataclass(frozen=True, slots=True)
class MixReport:
    """Implements Report."""

    result: MixResult

    def screen(self) -> Text:
        return Text("\n").join(map(Text, mix_lines(self.result)))

    def document(self, steps: Sequence[StepOutcome]) -> ResultDocument:
        return MixDocument.of(self.result, steps)


def mix_lines(result: MixResult) -> Iterator[str]:
    """Lines with what was asked, what the program has, and the precision of each module."""
    told = ", ".join(map(_outcome, result.needs))
    tried = plural(result.tried, "program")
    yield entry("needs", f"{told} ({plural(result.samples, 'sample')} that did not choose)")
    share = result.cycles / result.plain_cycles - 1 if result.plain_cycles else 0.0
    yield entry(
        "mix",
        f"{count(result.cycles)} cycles predicted for {result.core}, {share:+.1%} over int8 "
        f"({tried} tried)",
    )
    yield ""
    shown = _shown(result.parts)
    rows = table(_HEADER, [tuple(_row(part)) for part in shown])
    yield from (f"  {line}" for line in rows.splitlines())
    if len(shown) < len(result.parts):
        left = len(result.parts) - len(shown)
        yield indented(f"and {plural(left, 'layer')} more: --json has all", 2)
    yield ""
    yield entry("keep", f"{kept(result)} in cmbuild.toml")


def kept(result: MixResult) -> str:
    """The line of cmbuild.toml that has the same precision: `precision = {"*" = "8w16a"}`."""
    pairs = ", ".join(f'"{path}" = "{kind}"' for path, kind in result.precision.items())
    return f"precision = {{{pairs}}}"


def _shown(parts: Sequence[MixedPart]) -> list[MixedPart]:
    if len(parts) <= _MOST:
        return list(parts)
    by_cycles = sorted(parts, key=lambda part: (part.precision == "8w8a", -part.cycles))
    kept = set(map(id, by_cycles[:_MOST]))
    return [part for part in parts if id(part) in kept]


def _row(part: MixedPart) -> Iterator[str]:
    yield part.precision
    yield "exact" if math.isinf(part.snr_db) else f"{part.snr_db:.1f} dB"
    yield count(part.cycles)
    yield f"{part.weights:,}"
    yield part.layer or "the model itself"


def _outcome(need: NeedOutcome) -> str:
    mark = "✓" if need.met else "✗"
    return f"{mark} {need.option} {amount(need, need.asked)}: {amount(need, need.has)}"
