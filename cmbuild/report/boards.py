"""The available boards, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from cmbuild.boards.board import Board
from cmbuild.boards.memory import Layout, Memory, Region
from cmbuild.boards.registry import is_from_project
from cmbuild.doctor.availability import Availability
from cmbuild.launchers.base import Launcher
from cmbuild.launchers.registry import launchers_of
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document
from cmbuild.report.text import LABEL, SCREEN, entry, indented, short_table, table
from cmbuild.text import size
from cmcompiler.target import BEST_ISA


class BoardDocument(Document):
    """`flash` and `ram` are the bytes available to images; null for a computer."""

    name: str
    title: str
    cpu: str
    isas: tuple[str, ...]
    toolchain: str
    flash: int | None
    ram: int | None
    memory: tuple[Region, ...]
    launchers: tuple[str, ...]
    folder: str


class AvailabilityDocument(Document):
    """A way to run, flash or build; `problem` and `hint` are null if it is available."""

    name: str
    title: str
    usable: bool
    place: Path | None
    problem: str | None
    hint: str | None
    caveat: str | None
    flags: tuple[str, ...]


class BoardDetailDocument(BoardDocument):
    """One board: `fpu` is null for the core's best, `stack` if each image has what it needs,
    `sections` has regions by their use.
    """

    verbs = ("boards",)
    note: str | None
    fpu: str | None
    stack: int | None
    sections: dict[str, str]
    runs_on: tuple[AvailabilityDocument, ...]
    flashed_by: tuple[AvailabilityDocument, ...]
    built_by: tuple[AvailabilityDocument, ...]


class BoardsDocument(Document):
    verbs = ("boards",)
    boards: tuple[BoardDocument, ...]


@dataclass(frozen=True, slots=True)
class BoardsReport:
    """Implements Report: a table of all boards, those with the same core together.

    Attributes:
        everything: lists all, however many there are.
    """

    boards: Sequence[Board]
    everything: bool = False

    def screen(self) -> Text:
        rows = [
            (
                board.name,
                board.cpu if board.layout else "",
                board.isas[0].label,
                _size(board, Memory.FLASH),
                _size(board, Memory.RAM),
                ", ".join(map(_marked, launchers_of(board))),
            )
            for board in sorted(self.boards, key=_rank)
        ]
        header = ("board", "core", "isa", "flash", "RAM", "runs on")
        room = None if self.everything else SCREEN - 1 - _NOTES
        shown = short_table(header, rows, room, "--all lists them")
        notes = ["`cmbuild boards NAME` describes one"]
        if any(row[-1].find(_MARK) >= 0 for row in rows):
            notes.insert(0, f"{_MARK} simulated otherwise than built, as that says")
        return Text("\n".join([shown, *(indented(note, 2) for note in notes)]))

    def document(self, steps: Sequence[StepOutcome]) -> BoardsDocument:
        return BoardsDocument(boards=tuple(map(_document, self.boards)))


_MARK = "*"
_NOTES = 2  # lines below the table


def _rank(board: Board) -> tuple[bool, bool, int, str]:
    """Boards of the project first, then by core; this computer is last."""
    cores = tuple(BEST_ISA)
    core = cores.index(board.cpu) if board.cpu in cores else len(cores)
    return not is_from_project(board.folder), board.layout is None, core, board.name


def _marked(launcher: Launcher) -> str:
    """As `--launcher` takes it, with a mark if the machine differs from the board."""
    return launcher.name if launcher.caveat is None else f"{launcher.name}{_MARK}"


@dataclass(frozen=True, slots=True)
class BoardReport:
    """Implements Report: everything about one board, and what is available on this machine."""

    board: Board
    runners: Sequence[Availability]
    flashers: Sequence[Availability]
    builders: Sequence[Availability]

    def screen(self) -> Text:
        board = self.board
        fpu = "" if board.fpu is None else f", fpu {board.fpu}"
        lines = [
            entry("board", f"{board.name}: {board.title}"),
            *([] if board.note is None else [entry("", board.note)]),
            entry("core", f"{board.cpu}, {', '.join(isa.label for isa in board.isas)}{fpu}"),
            entry("folder", str(board.folder)),
        ]
        if board.layout is not None:
            lines += ["", _memory(board, board.layout), ""]
        nothing = "no simulator models its memory and devices"
        lines += _means("runs on", self.runners) or [entry("runs on", nothing)]
        if board.uart is not None:
            line = f"hardware at a serial port, {board.uart.baud:,} baud (--on hardware)"
            lines.append(entry("", line))
        lines += _means("flashed", self.flashers)
        lines += _means("built by", self.builders)
        return Text("\n".join(lines))

    def document(self, steps: Sequence[StepOutcome]) -> BoardDetailDocument:
        board = self.board
        layout = board.layout
        return BoardDetailDocument(
            **dict(_document(board)),
            note=board.note,
            fpu=board.fpu,
            stack=board.stack,
            sections={} if layout is None else layout.model_dump(exclude_none=True),
            runs_on=tuple(map(AvailabilityDocument.model_validate, self.runners)),
            flashed_by=tuple(map(AvailabilityDocument.model_validate, self.flashers)),
            built_by=tuple(map(AvailabilityDocument.model_validate, self.builders)),
        )


def _memory(board: Board, layout: Layout) -> str:
    uses: dict[str, list[str]] = {}
    for part in ("code", "constants", "hot", "hot_kernels", "data", "arena", "workspace"):
        if (region := getattr(layout, part)) is not None:
            uses.setdefault(region, []).append(part)
    stack = "each image's stack" if board.stack is None else f"{size(board.stack)} stack"
    uses[layout.data].append(stack)
    rows = [
        (
            region.name,
            region.kind.value,
            f"0x{region.origin:08x}",
            size(region.size),
            ", ".join(uses.get(region.name, [])),
        )
        for region in board.regions.values()
    ]
    return table(("memory", "kind", "origin", "size", "holds"), rows)


def _means(label: str, means: Sequence[Availability]) -> list[str]:
    """One line each, with its consequence below."""
    lines = []
    for index, each in enumerate(means):
        title = each.title if each.usable else f"{each.title}: {each.problem}"
        if each.problem is not None and each.problem.startswith(each.title):
            title = each.problem
        mark = "✓" if each.usable else "–"
        lines.append(entry(label if index == 0 else "", f"{mark} {title}"))
        place = None if each.place == Path("/") else each.place
        more = [str(place or "") if each.usable else each.hint, " ".join(each.flags)]
        lines += [indented(text, LABEL + 4) for text in more if text]
    return lines


def _size(board: Board, kind: Memory) -> str:
    capacity = board.capacity(kind)
    return "" if capacity is None else size(capacity)


def _document(board: Board) -> BoardDocument:
    return BoardDocument(
        name=board.name,
        title=board.title,
        cpu=board.cpu,
        isas=tuple(isa.label for isa in board.isas),
        toolchain=board.toolchain,
        flash=board.capacity(Memory.FLASH),
        ram=board.capacity(Memory.RAM),
        memory=tuple(board.regions.values()),
        launchers=tuple(launcher.name for launcher in launchers_of(board)),
        folder=str(board.folder),
    )
