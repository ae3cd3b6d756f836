"""Chips by name, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.boards.memory import Region, text_of
from cmbuild.chips.chip import Chip
from cmbuild.cycles.counter import core_title
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document
from cmbuild.report.text import SCREEN, indented, short_table
from cmcompiler.target import BEST_ISA


class ChipDocument(Document):
    """`fpu` is null for the core's best; `flash` is null if it is a chip of its own."""

    name: str
    cpu: str
    fpu: str | None
    flash: Region | None
    ram: tuple[Region, ...]


class ChipsDocument(Document):
    """`source` is the collection that the facts are from, and its version."""

    verbs = ("chips",)
    source: str
    chips: tuple[ChipDocument, ...]


@dataclass(frozen=True, slots=True)
class ChipsReport:
    """Implements Report: a table of chips, or of families where all are listed.

    Attributes:
        pattern: what they fit; None for all that there are.
        everything: lists every chip, however many there are.
    """

    chips: Sequence[Chip]
    source: str
    pattern: str | None = None
    everything: bool = False

    def screen(self) -> Text:
        room = None if self.everything else SCREEN - 1 - _NOTES
        hint = "`cmbuild chips stm32f4` lists chips by the beginning of their names"
        if self.pattern is None and not self.everything:
            shown = short_table(("begins with", "chips", "cores"), _families(self.chips), room, ALL)
        else:
            rows = [(chip.name, chip.cpu, _flash(chip), *_ram(chip)) for chip in self.chips]
            head = ("chip", "core", "flash", "RAM", "in all")
            shown = short_table(head, rows, room, f"a longer name, or {ALL}")
            hint = "`--board NAME` takes each of them"
        number = len(self.chips)
        count = "1 chip" if number == 1 else f"{number:,} chips"
        notes = (f"{count}; facts from {self.source}", hint)
        return Text("\n".join([shown, *(indented(note, 2) for note in notes)]))

    def document(self, steps: Sequence[StepOutcome]) -> ChipsDocument:
        return ChipsDocument(source=self.source, chips=tuple(map(_document, self.chips)))


ALL = "--all lists them"
_NOTES = 3  # lines below the table
_FAMILY = 4  # letters that the names of a family begin with


def _families(chips: Sequence[Chip]) -> list[tuple[str, str, str]]:
    """The largest first: how names begin, how many do, and their cores."""
    families: dict[str, list[Chip]] = {}
    for chip in chips:
        families.setdefault(chip.name[:_FAMILY].upper(), []).append(chip)
    largest = sorted(families.items(), key=lambda family: -len(family[1]))
    return [(name, f"{len(members):,}", _cores(members)) for name, members in largest]


def _cores(chips: Sequence[Chip]) -> str:
    """`M4, M7, M33`"""
    cores = {chip.cpu for chip in chips}
    return ", ".join(core_title(cpu).removeprefix("Cortex-") for cpu in BEST_ISA if cpu in cores)


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
