"""Lines, columns and tables in plain text of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 80
LABEL = 10  # width of the labels at the left

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, width: int) -> str:
    """A bar for a share of 0 to 1."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, part = divmod(eighths, 8)
    return "█" * full + _EIGHTHS[part].strip()


def entry(label: str, text: str) -> str:
    """A labelled line; wrapped under its text if it is too long."""
    return _filled(f"  {label:<{LABEL}}", text)


def warning(text: str) -> str:
    """A line that begins with `!`; wrapped under its text if it is too long."""
    return _filled("  ! ", text)


def indented(text: str, columns: int) -> str:
    """The text, wrapped, with every line indented by so many columns."""
    return _filled(" " * columns, text)


def fit(text: str, width: int) -> str:
    """The text, cut with an ellipsis if it is too long."""
    return text if len(text) <= width else text[: width - 1] + "…"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as needed, two spaces apart; the last one wraps."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return "\n".join(_row(row, widths[:-1]) for row in (header, *rows))


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    start = "".join(f"  {cell:<{width}}" for cell, width in zip(cells, widths, strict=False)) + "  "
    filled = textwrap.fill(
        cells[-1], WIDTH, initial_indent=start, subsequent_indent=" " * len(start)
    )
    return filled.rstrip() or start.rstrip()


def _filled(start: str, text: str) -> str:
    indent = " " * len(start)
    return textwrap.fill(
        text, WIDTH, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
    )
