"""Tables in plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from cmbuild.report.text import WIDTH


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need, two spaces apart; the last goes on below where it must."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return "\n".join(_line(row, widths[:-1]) for row in (header, *rows))


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    start = "".join(f"  {cell:<{width}}" for cell, width in zip(row, widths, strict=False)) + "  "
    return (
        textwrap.fill(
            row[-1], WIDTH, initial_indent=start, subsequent_indent=" " * len(start)
        ).rstrip()
        or start.rstrip()
    )
