"""An image's console output: records, one per line, which begin with `cmrt`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

PREFIX = "cmrt "

_NUMBER = re.compile("[0-9a-f]{1,16}")  # 64 bits, as runner/text.c writes them


@dataclass(frozen=True, slots=True)
class ConsoleRecord:
    """One line that runtime/runner/text.c wrote: a kind, then words and hexadecimal numbers."""

    kind: str
    words: tuple[str, ...]

    def number(self, index: int) -> int:
        """Raises ValueError if it is missing or not a number: an image may print anything."""
        if index >= len(self.words):
            raise ValueError(f"record {self.kind} has no word {index}")
        if not _NUMBER.fullmatch(self.words[index]):
            raise ValueError(f"record {self.kind} has {self.words[index]!r}, not a number")
        return int(self.words[index], 16)

    @property
    def status(self) -> int | None:
        """The status that a run ended with; None unless it is a well-formed final record."""
        if self.kind != "end" or len(self.words) != 1:
            return None
        try:
            return self.number(0)
        except ValueError:
            return None


def records(lines: Iterable[str]) -> tuple[ConsoleRecord, ...]:
    """The records among the lines of console output."""
    records = []
    for line in lines:
        if line.startswith(PREFIX):
            kind, *words = line.split()[1:] or [""]
            records.append(ConsoleRecord(kind, tuple(words)))
    return tuple(records)
