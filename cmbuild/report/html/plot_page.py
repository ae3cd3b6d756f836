"""A page with points over two axes, and a row for each: of a search, or of anything else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from cmbuild.errors import UsageError
from cmbuild.report.html.chart import PlotAxis, Point, scatter
from cmbuild.report.html.environment import rendered
from cmbuild.text import count, percent, size


class NotPlottable(UsageError):
    template = "{label!r} has {value} as its {axis}; {expected}"


class NoPoints(UsageError):
    template = "no points to plot"


_BYTES = ("bytes", "flash", "ram", "arena")
_SHARES = ("accuracy", "share")
_COUNTS = ("cycles", "instructions", "macs")


def axis(title: str) -> PlotAxis:
    """The axis that a title's words ask for: bytes, shares, counts, or plain numbers."""
    words = {word.strip(",.:()").lower() for word in title.split()}
    if words & set(_BYTES):
        return PlotAxis(title, lambda value: size(round(value)), is_binary=True)
    if words & set(_SHARES):
        return PlotAxis(title, lambda value: percent(value, 1), is_log=False)
    if words & set(_COUNTS):
        return PlotAxis(title, lambda value: count(round(value)).replace(".0 ", " "))
    return PlotAxis(title, lambda value: f"{value:.4g}", is_log=False)


def plot_page(points: Sequence[Point], title: str, x: str, y: str) -> str:
    """The page; it contains its points as JSON.

    Args:
        x, y: titles of the axes. One with the word flash, RAM, arena or bytes counts bytes; with
            accuracy or share, shares of 0 to 1; with cycles, instructions or MACs, these.

    Raises:
        NoPoints, NotPlottable.
    """
    across, up = axis(x), axis(y)
    if not points:
        raise NoPoints()
    for point in points:
        for value, each in ((point.x, across), (point.y, up)):
            if not math.isfinite(value) or (each.is_log and value <= 0):
                expected = "expected more than 0" if each.is_log else "expected a finite number"
                raise NotPlottable(
                    label=point.label, value=value, axis=each.title, expected=expected
                )
    return rendered(
        "plot.html.j2",
        {"x": x, "y": y, "points": [asdict(point) for point in points]},
        "plot",
        title=title,
        chart=scatter(points, across, up, f"{y} against {x}"),
    )
