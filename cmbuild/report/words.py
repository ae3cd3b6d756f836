"""Plain words, for readers of reports, for the compiler's own."""

from __future__ import annotations

ROW_BUFFERS = "row buffers"
"""The report's word for rings: the few rows of a tensor that are in memory at a time."""

_PLAIN = {
    "stream": "turns between rows",
    "feed": "input, row by row",
    "drain": "output, row by row",
}

_LAYOUTS = {"channels-last": "NHWC in memory"}


def plain(title: str) -> str:
    """The title of a step of the plan."""
    return _PLAIN.get(title, title)


def layout(name: str) -> str:
    """How a tensor lies in memory."""
    return _LAYOUTS.get(name, name)
