"""Numbers and columns as people read them, in plain text of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 80
LABEL = 10  # columns of the labels at the left

_EIGHTHS = " ▏▎▍▌▋▊▉"


def count(number: int) -> str:
    """`141.2 M`, `88.1 k`, `640`: three or four digits that matter."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return str(number)


def size(number: int) -> str:
    """Bytes, in the binary units that memory comes in: `1.44 MB`, `27.9 KB`, `612 B`, `8 MB`."""
    for unit, step, digits in (("MB", 1 << 20, 2), ("KB", 1 << 10, 1)):
        if number >= step:
            return f"{number / step:.{digits}f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{number} B"


def shape(sizes: Sequence[int]) -> str:
    """`1×3×224×224`, or `scalar`."""
    return "×".join(map(str, sizes)) or "scalar"


def plural(number: int, noun: str) -> str:
    """`1 sample`, `2 samples`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def bar(share: float, width: int) -> str:
    """A bar for a share of 0 to 1."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, part = divmod(eighths, 8)
    return "█" * full + _EIGHTHS[part].strip()


def entry(label: str, text: str) -> str:
    """A labelled line; continued under its text where it is too long."""
    start, indent = f"  {label:<{LABEL}}", " " * (LABEL + 2)
    return textwrap.fill(
        text, WIDTH, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
    )


def indented(text: str, columns: int) -> str:
    """The text on lines that begin so many columns from the left."""
    space = " " * columns
    return textwrap.fill(
        text, WIDTH, initial_indent=space, subsequent_indent=space, break_on_hyphens=False
    )


def fit(text: str, width: int) -> str:
    """The text, cut with an ellipsis where it is too long."""
    return text if len(text) <= width else text[: width - 1] + "…"
