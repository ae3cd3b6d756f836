"""Pages with plots of what the other functions return."""

from __future__ import annotations

from collections.abc import Iterable

from cmbuild.api.arguments import text
from cmbuild.api.translation import own_errors
from cmbuild.errors import UsageError
from cmbuild.report.html.chart import Point
from cmbuild.report.html.plot_page import plot_page

__all__ = ["Point", "plot"]


@own_errors
def plot(points: Iterable[Point], *, title: str, x: str, y: str) -> str:
    """An HTML page that loads nothing: points over two axes, and a table of them.

    Args:
        points: `cmbuild.Point(x, y, label, group)`; `stands_out` puts a ring around one.
        title: the heading.
        x, y: titles of the axes. One with the word flash, RAM, arena or bytes counts bytes; with
            accuracy or share, shares of 0 to 1; with cycles, instructions or MACs, these.

    Raises:
        UsageError: no points, or one that has no place on an axis.
    """
    given = list(points)
    if wrong := next((each for each in given if not isinstance(each, Point)), None):
        raise UsageError(message=f"{wrong!r} is not a cmbuild.Point")
    titles = (text("title", title), text("x", x), text("y", y))
    return plot_page(given, *titles)
