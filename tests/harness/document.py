"""Follows documents to the letter: the files they show, the commands and their output."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"^(?:`(?P<path>[^`\n]+)`:\n\n)?```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class File:
    """A file that the document asks to write."""

    path: str
    text: str

    def write(self, folder: Path) -> Path:
        """Raises FileExistsError: documents add files, they never replace one."""
        path = folder / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x") as file:
            file.write(self.text)
        return path


@dataclass(frozen=True)
class Command:
    """A command line, and how lines of its output begin, in order."""

    words: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def fails(self) -> bool:
        return any(line.startswith("error: ") for line in self.lines)

    def check(self, printed: str) -> None:
        rest = iter(printed.splitlines())
        for line in self.lines:
            assert any(other.startswith(line) for other in rest), f"no {line!r} in:\n{printed}"


def steps(text: str) -> Iterator[File | Command]:
    """The files and commands of a section, in order."""
    for block in _BLOCK.finditer(text):
        if block["path"]:
            yield File(block["path"], block["text"])
        elif block["kind"] == "console":
            for part in re.split(r"^\$ ", block["text"], flags=re.M)[1:]:
                line, *lines = part.splitlines()
                yield Command(tuple(shlex.split(line)), tuple(lines))


def sections(text: str) -> dict[str, str]:
    """Sections by heading."""
    parts = re.split(r"^## (.+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
