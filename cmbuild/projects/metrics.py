"""Metrics that can be budgeted and compared: each one's direction and how to write it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cmbuild.text import percent, size

if TYPE_CHECKING:
    from cmbuild.projects.figures import RunFigures


@dataclass(frozen=True, slots=True)
class Metric:
    """
    Attributes:
        name: as in budgets and options.
        unit: `bytes`, `instructions`, `cycles`, `ms`, `share` or `dB`.
        value: of a run; None where it was not measured.
        lacking: why not, for people.
        is_least: whether a limit is the least that it must be, not the most.
        detail: what a value comes from, in words.
    """

    name: str
    unit: str
    value: Callable[[RunFigures], float | None]
    lacking: str
    is_least: bool = False
    detail: Callable[[RunFigures], str | None] = lambda run: None

    def written(self, value: float) -> str:
        """`42.5 KB`, `3,940,000`, `93.6 %`, `38.4 dB`."""
        if self.unit == "bytes":
            return size(round(value))
        if self.unit == "share":
            return percent(value, 2)
        if self.unit in ("dB", "ms"):
            return "no error" if math.isinf(value) else f"{value:.4g} {self.unit}"
        return f"{round(value):,}"

    def excess(self, value: float, limit: float) -> float:
        """By how much a value is beyond a limit; not positive if it is within."""
        return limit - value if self.is_least else value - limit

    def told(self, excess: float) -> str:
        """An excess, exactly: `1,024 bytes over`, `0.60 points under`."""
        side = "under" if self.is_least else "over"
        if self.unit == "share":
            return f"{100 * excess:.2f} points {side}"
        if self.unit in ("dB", "ms"):
            return f"{excess:.3g} {self.unit} {side}"
        unit = " bytes" if self.unit == "bytes" else ""
        return f"{round(excess):,}{unit} {side}"


def _instructions(run: RunFigures) -> float | None:
    counted = run.instructions
    return counted.total if counted.unit == "instructions" else None


def _cycles(run: RunFigures) -> float | None:
    if run.instructions.unit == "cycles":
        return run.instructions.total
    return None if run.cycles is None else run.cycles.total


def _cycles_with_flash(run: RunFigures) -> float | None:
    if run.cycles is None or run.cycles.with_flash is None:
        return None
    return run.cycles.with_flash.total


def _milliseconds(run: RunFigures) -> float | None:
    return None if run.cycles is None else run.cycles.milliseconds


def _accuracy(run: RunFigures) -> float | None:
    return None if run.accuracy is None else run.accuracy.reference


def _snr(run: RunFigures) -> float | None:
    if run.fidelity is None:
        return None
    parts = run.fidelity.outputs or (run.fidelity,)
    return min(math.inf if part.snr_db is None else part.snr_db for part in parts)


def _resolution(run: RunFigures) -> float | None:
    if run.fidelity is None or run.faithful is None:
        return None
    return math.inf if run.fidelity.coarsest is None else run.fidelity.coarsest.snr_db


def _coarsest(run: RunFigures) -> str | None:
    """`softmax (attend) at net.py:21: its logits span 698 in 255 steps; scale before it`"""
    # The command line has an option for each metric, and must not load what a run does.
    from cmbuild.verify.faithfulness import place

    layer = None if run.fidelity is None else run.fidelity.coarsest
    return None if layer is None else f"{place(layer)}: {layer.cause}; {layer.remedy}"


METRICS = (
    Metric("flash", "bytes", lambda run: run.memory.flash.total, "not linked"),
    Metric("ram", "bytes", lambda run: run.memory.ram.total, "not linked"),
    Metric("arena", "bytes", lambda run: run.memory.ram.arena, "not planned"),
    Metric("pte", "bytes", lambda run: run.pte, "the program is gone"),
    Metric("instructions", "instructions", _instructions, "not counted here"),
    Metric("cycles", "cycles", _cycles, "not counted here"),
    Metric(
        "cycles_with_flash",
        "cycles",
        _cycles_with_flash,
        "not counted here, or no [clock.flash] in board.toml",
    ),
    Metric("milliseconds", "ms", _milliseconds, "no cycles, or no clock in board.toml"),
    Metric("float", "share", lambda run: run.float.share, "not counted here"),
    Metric("accuracy", "share", _accuracy, "no labelled samples", is_least=True),
    Metric("snr", "dB", _snr, "no float model", is_least=True),
    Metric("resolution", "dB", _resolution, "layers not compared", is_least=True, detail=_coarsest),
)
"""In the order in which tables show them."""
