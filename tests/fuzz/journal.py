"""The slices that a campaign has done, a line each, so that a later run goes on after them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from fuzz.campaign import Campaign, Report, Slice


@dataclass(frozen=True)
class Journal:
    """
    Attributes:
        file: None keeps nothing.
    """

    file: Path | None

    def done(self, campaign: Campaign) -> dict[int, Report]:
        """Reports of its slices, without the findings' programs, by number."""
        lines = self.file.read_text().splitlines() if self.file and self.file.exists() else []
        entries = [json.loads(line) for line in lines]
        return {
            entry["slice"]: Report(Counter(entry["kinds"]))
            for entry in entries
            if entry["campaign"] == _identity(campaign)
        }

    def add(self, campaign: Campaign, ended: Slice) -> None:
        """Adds a slice; one that did not try all of its mutants will be done again."""
        if self.file is None or not ended.is_complete:
            return
        entry = {
            "campaign": _identity(campaign),
            "slice": ended.number,
            "kinds": dict(sorted(ended.report.kinds.items())),
            "findings": sorted(ended.report.findings),
        }
        with self.file.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def left(self, campaign: Campaign, mutants: int | None) -> Iterator[int]:
        """Numbers of the slices that are not done, up to a number of mutants."""
        done = self.done(campaign)
        numbers = count() if mutants is None else range(-(-mutants // campaign.size))
        return (number for number in numbers if number not in done)


def _identity(campaign: Campaign) -> str:
    return f"seed {campaign.seed}, {campaign.size} of {' '.join(campaign.formats)}"
