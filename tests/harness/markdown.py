"""Markdown as it is kept here: paragraphs and list items wrapped at 100 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from harness.sources import ROOT

WIDTH = 100
_ITEM = re.compile(r"(?P<indent> *)(?P<mark>(?:[-*]|\d+\.) +)(?P<text>.*)")
_VERBATIM = re.compile(r"\s*(?:\||#|<|!!! |\?\?\? |=== |---$|\[[^\]]+\]: |> )")
"""Starts of lines that are never part of a paragraph."""

_MARKER = re.compile(r"[ \n](?=(?:[-*+#>|]|\d+\.)(?: |$))")
"""Spaces before words that would begin a list, a heading or a quotation on a line of their own."""

_UNBREAKABLE = re.compile(r"`[^`]+`|\]\([^)]+\)")
_GLUE = "\0"


def documents() -> list[str]:
    """Paths of all Markdown files in the tree, relative to its root."""
    folders = ("", "docs", "zephyr", "examples", "changes", ".github")
    files = [path for folder in folders for path in (ROOT / folder).glob(_pattern(folder))]
    return sorted(str(path.relative_to(ROOT)) for path in files)


def _pattern(folder: str) -> str:
    return "**/*.md" if folder else "*.md"


def wrapped(text: str) -> str:
    """The same document with its paragraphs wrapped."""
    return "\n".join(_lines(text.splitlines())) + "\n"


def _lines(lines: list[str]) -> Iterator[str]:
    paragraph: list[str] = []
    verbatim_until: re.Pattern[str] | None = None
    for line in lines:
        if verbatim_until is not None:
            yield line
            if verbatim_until.match(line):
                verbatim_until = None
            continue
        if fence := re.match(r" *(```+|~~~+)", line):
            verbatim_until = re.compile(rf" *{fence[1]}\s*$")
        elif line.startswith("<!-- generated: "):
            verbatim_until = re.compile("<!-- end -->")
        ends = verbatim_until is not None or not line.strip() or _VERBATIM.match(line) is not None
        if ends or _ITEM.fullmatch(line):
            yield from _wrap(paragraph)
            paragraph = []
        if ends:
            yield line
        else:
            paragraph.append(line)
            if line.endswith(("  ", "\\")):
                yield from _wrap(paragraph)
                paragraph = []
    yield from _wrap(paragraph)


def _wrap(paragraph: list[str]) -> list[str]:
    if not paragraph:
        return []
    first = paragraph[0]
    item = _ITEM.fullmatch(first)
    indent = " " * (len(first) - len(first.lstrip()))
    start = item["indent"] + item["mark"] if item else indent
    words = " ".join(line.strip() for line in [first[len(start) :], *paragraph[1:]])
    hard_break = "  " if paragraph[-1].endswith("  ") else ""
    glued = _UNBREAKABLE.sub(lambda match: match[0].replace(" ", _GLUE), words)
    wrapped = textwrap.wrap(
        _MARKER.sub(_GLUE, glued),
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
    wrapped[-1] += hard_break
    return [line.replace(_GLUE, " ") for line in wrapped]
