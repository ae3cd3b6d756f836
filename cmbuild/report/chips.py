"""Chips by name, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.boards.memory import Region, text_of
from cmbuild.chips.chip import Chip
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document
from cmbuild.report.text import table


class ChipDocument(Document):
    """`fpu` is null for the core's best; `flash` is null if it is a chip of its own."""

    name: str
    cpu: str
    fpu: str | None
    flash: Region | None
    ram: tuple[Region, ...]


class ChipsDocument(Document):
    """`source` is the collection that the facts are from, and its version."""

    source: str
    chips: tuple[ChipDocument, ...]


@dataclass(frozen=True, slots=True)
class ChipsReport:
    """Implements Report: a table of chips."""

    chips: Sequence[Chip]
    source: str

    def screen(self) -> Text:
        rows = [(chip.name, chip.cpu, _flash(chip), *_ram(chip)) for chip in self.chips]
        head = ("chip", "core", "flash", "RAM", "in all")
        count = "1 chip" if len(rows) == 1 else f"{len(rows):,} chips"
        return Text(f"{table(head, rows)}\n  {count}; facts from {self.source}")

    def document(self, steps: Sequence[StepOutcome]) -> ChipsDocument:
        return ChipsDocument(source=self.source, chips=tuple(map(_document, self.chips)))


def _flash(chip: Chip) -> str:
    return text_of(chip.flash.size) if chip.has_flash else "on the board"


def _ram(chip: Chip) -> tuple[str, str]:
    """The largest block, and all of them."""
    return text_of(chip.ram[0].size), text_of(sum(region.size for region in chip.ram))


def _document(chip: Chip) -> ChipDocument:
    return ChipDocument(
        name=chip.name,
        cpu=chip.cpu,
        fpu=chip.fpu,
        flash=chip.flash if chip.has_flash else None,
        ram=chip.ram,
    )
