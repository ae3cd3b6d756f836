"""Lines, columns and tables in plain text, as wide as the terminal."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Sequence
from itertools import pairwise

NARROWEST, WIDEST = 40, 200
FEW_COLUMNS = 60
"""Below it, tables keep the columns that matter most."""

SCREEN = 40
"""Lines of a small terminal, which every screen fits that is not asked for in full."""

_USUAL = 80  # width where there is no terminal
LABEL = 10  # width of the labels at the left

_LEAST = 16  # columns for the last of a table
_EIGHTHS = " ▏▎▍▌▋▊▉"
_LEVELS = "▁▂▃▄▅▆▇█"


_FOLDERS = re.compile(r"(?:[^\s/:]*/)+(?=[^\s/]+)")  # `a/b/` of `a/b/kws.py:make`


def width() -> int:
    """Columns to fill: those of the terminal or $COLUMNS, within reason."""
    columns = shutil.get_terminal_size((_USUAL, 24)).columns
    return max(NARROWEST, min(WIDEST, columns))


def bar(share: float, width: int) -> str:
    """A bar for a share of 0 to 1."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, part = divmod(eighths, 8)
    return "█" * full + _EIGHTHS[part].strip()


def profile(heights: Sequence[int], width: int) -> str:
    """A column for each number, or for the largest of several where there are more than `width`."""
    columns = min(width, len(heights))
    cuts = [len(heights) * column // columns for column in range(columns + 1)] if columns else []
    tops = [max(heights[a:b]) for a, b in pairwise(cuts)]
    most = max(tops, default=0)
    return "".join(_LEVELS[max(0, -(-top * 8 // most) - 1)] if most else " " for top in tops)


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
    """The text, cut with an ellipsis if it is too long; folders go first: `…/kws.py:make`."""
    if len(text) > width:
        text = _FOLDERS.sub("…/", text)
    return text if len(text) <= width else text[: width - 1] + "…"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as needed, two spaces apart, the last one wrapped.

    A narrow terminal has the last one on a line of its own, then one space between the others. Only
    then are the widest of them cut: names are for typing, and figures mean nothing without an end.
    With fewer than 60 columns, each cell gets a line instead.
    """
    lines = (header, *rows)
    *widths, last = (max(map(len, column)) for column in zip(*lines, strict=True))
    gap = 2
    is_below = sum(widths) + gap * (len(widths) + 1) + min(_LEAST, last) > width()
    if is_below and sum(widths) + gap * len(widths) > width():
        gap = 1
        if width() < FEW_COLUMNS and sum(widths) + len(widths) + 1 > width():
            return "\n".join(_block(header, row) for row in rows)
        while sum(widths) + len(widths) + 1 > width():
            widths[widths.index(max(widths))] -= 1
    return "\n".join(_row(row, widths, gap, is_below) for row in lines)


def short_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], room: int | None, hint: str
) -> str:
    """A table of as many lines as there is room for, and a line that counts the rows left out.

    Args:
        room: lines; None for all rows.
        hint: how to see the others, at the end of that line: `--all lists them`.
    """
    if room is None:
        return table(header, rows)
    kept = min(len(rows), room)
    while kept > 1:
        shown = table(header, rows[:kept])
        left = len(rows) - kept
        if shown.count("\n") + 1 + bool(left) <= room:
            break
        kept -= 1
    else:
        shown, left = table(header, rows[:kept]), len(rows) - kept
    return shown if not left else f"{shown}\n{indented(f'… and {left:,} more: {hint}', 2)}"


def _block(header: Sequence[str], cells: Sequence[str]) -> str:
    """A row as lines of its own, for terminals that no row fits in."""
    first, *others = cells
    named = [
        f"{title} {cell}".strip() for title, cell in zip(header[1:], others, strict=True) if cell
    ]
    return "\n".join([indented(first, 2), *(indented(each, 4) for each in named)])


def _row(cells: Sequence[str], widths: Sequence[int], gap: int, is_below: bool) -> str:
    columns = zip(cells, widths, strict=False)
    start = "  " + (" " * gap).join(f"{fit(cell, size):<{size}}" for cell, size in columns)
    if is_below:
        below = f"\n{indented(cells[-1], 4)}" if cells[-1] else ""
        return start.rstrip() + below
    start = f"{start}{' ' * gap if widths else ''}"
    filled = textwrap.fill(
        cells[-1],
        width(),
        initial_indent=start,
        subsequent_indent=" " * len(start),
    )
    return filled.rstrip() or start.rstrip()


def _filled(start: str, text: str) -> str:
    indent = " " * len(start)
    return textwrap.fill(
        text, width(), initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
    )
