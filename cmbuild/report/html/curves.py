"""Fills the template of the page that shows RAM against cycles, from results of `fit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from cmbuild.cache.folders import slug
from cmbuild.report.html.environment import rendered
from cmbuild.sizing.results import CurvePointResult, FitResult, RamCurveResult

_TEMPLATE = "fit.html.j2"
_FITS = TypeAdapter(tuple[FitResult, ...])

LEFT, WIDTH, BOTTOM, HEIGHT = 70, 900, 260, 240
"""Where a plot's axes lie, in units of its drawing."""

ROOM = 1.06
"""The end of an axis, as a multiple of its largest value."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of a plot.

    Attributes:
        x, y: in units of the drawing.
        share: cycles more than those of the fastest point, of these.
    """

    point: CurvePointResult
    x: float
    y: float
    share: float


@dataclass(frozen=True, slots=True)
class Plot:
    """RAM against cycles of a model on a board.

    Attributes:
        top, right: cycles and bytes at the ends of the axes.
    """

    title: str
    curve: RamCurveResult
    marks: tuple[Mark, ...]
    top: float
    right: float

    @classmethod
    def of(cls, title: str, curve: RamCurveResult) -> Plot:
        """Points beyond four times the usual arena are left out of the drawing: a plan of whole
        tensors would leave no room for the others.
        """
        near = [each for each in curve.points if each.arena <= 4 * curve.usual]
        cycles = [0 if each.cycles is None else each.cycles.total for each in near]
        top, right = ROOM * max(cycles, default=0), ROOM * max(p.arena for p in near)
        marks = [
            Mark(
                each,
                LEFT + WIDTH * each.arena / right,
                BOTTOM - HEIGHT * total / top,
                curve.slower(each) or 0,
            )
            for each, total in zip(near, cycles, strict=True)
            if total
        ]
        return cls(title, curve, tuple(marks), top, right)


def curves_page(results: Sequence[FitResult]) -> str:
    """A page with a table and a plot of each curve, and the JSON that `--json` prints."""
    plots = [
        Plot.of(f"{slug(result.model)} on {result.board}", result.curve)
        for result in results
        if result.curve is not None
    ]
    document = {"fits": _FITS.dump_python(tuple(results), mode="json")}
    return rendered(_TEMPLATE, document, "result", title="RAM against cycles", plots=plots)
