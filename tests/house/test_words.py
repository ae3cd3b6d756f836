"""Docstrings and comments can be read alone."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from harness.sources import MODULES, ROOT

_HEADLESS = re.compile(
    r"(?:(?:Of|of|What|Whatever|Whose|Likewise|Those|That|The same) |Of,"
    r"|As (?:before|above|a |in |of ))"
)
"""The beginning of most texts that are the rest of a sentence whose subject the reader must guess.

Whole sentences begin so too, as "What was missing may be there now.": hence some are allowed.
"""

MOST_HEADLESS = 60


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a module, each with its line."""
    last = -1  # line of the comment before
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            if line != last + 1:
                yield line, token.string.lstrip("# ")
            last = line
        elif token.type == tokenize.STRING and token.string.startswith('"""'):
            yield line, token.string.strip('"\\\n ')


def headless(path: Path) -> list[str]:
    place = path.relative_to(ROOT)
    return [
        f"{place}:{line}: {text.splitlines()[0]}"
        for line, text in texts(path)
        if _HEADLESS.match(text)
    ]


def test_texts_without_a_head_are_found(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text('WIDTH = 8  # of a column\n"""Of the first table."""\n\n\nx = 1  # a number\n')
    assert [text for _, text in texts(path) if _HEADLESS.match(text)] == [
        "of a column",
        "Of the first table.",
    ]


def test_texts_have_a_head() -> None:
    fragments = [text for path in MODULES.values() for text in headless(path)]
    assert len(fragments) <= MOST_HEADLESS, "\n".join(fragments)
