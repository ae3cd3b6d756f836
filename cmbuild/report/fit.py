"""Models × boards: what fits, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.boards.memory import Memory
from cmbuild.cache.folders import slug
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document
from cmbuild.report.text import indented, table
from cmbuild.sizing.estimate import Basis, Need
from cmbuild.sizing.fits import Cell
from cmbuild.text import size

_BASIS = {
    Basis.RELATED: (
        "~",
        "code estimated from the library of another core with the same instruction set",
    ),
    Basis.ASSUMED: ("≤", "code is an upper bound, because no library has been built yet"),
}


class NeedDocument(Document):
    """Bytes that a program needs of a board. `weights` and `arena` are exact; `basis` says where
    `code` and `static` come from: the library, a related one, or an assumption; `stack` is
    reserved.
    """

    weights: int
    code: int
    arena: int
    static: int
    stack: int
    basis: str
    over: dict[str, int]


class FitDocument(Document):
    """A model on a board; `fits` and `need` are null if the model is not exported."""

    model: str
    board: str
    flash: int | None
    ram: int | None
    fits: bool | None
    need: NeedDocument | None


class FitsDocument(Document):
    fits: tuple[FitDocument, ...]


@dataclass(frozen=True, slots=True)
class FitReport:
    """Implements Report."""

    cells: Sequence[Cell]

    def screen(self) -> Text:
        known = [cell for cell in self.cells if cell.need is not None]
        text = Text(table(("model", "board", "flash", "of", "RAM", "of", ""), _rows(known)))
        if excesses := [line for cell in known if (line := _excess(cell))]:
            text.append("\n")
        for line in excesses:
            text.append(f"\n{indented(line, 2)}")
        for basis, (mark, meaning) in _BASIS.items():
            if any(cell.need is not None and cell.need.code.basis is basis for cell in known):
                text.append(f"\n\n{indented(f'{mark} {meaning}; arena and weights are exact', 2)}")
        if unknown := dict.fromkeys(cell.model for cell in self.cells if cell.need is None):
            names = " ".join(unknown)
            text.append(f"\n\n{indented(f'not exported yet: {names}', 2)}")
            text.append(f"\n{indented(f'try: cmbuild fit {names} --export', 4)}")
        return text

    def document(self, steps: Sequence[StepOutcome]) -> FitsDocument:
        return FitsDocument(fits=tuple(map(_document, self.cells)))


def _rows(cells: Sequence[Cell]) -> list[tuple[str, ...]]:
    return [tuple(_row(cell)) for cell in cells]


def _row(cell: Cell) -> Iterator[str]:
    need, board = cell.need, cell.board
    assert need is not None
    mark = _BASIS[need.code.basis][0] if need.code.basis in _BASIS else ""
    yield slug(cell.model)
    yield board.name
    yield mark + size(need.flash)
    yield size(board.capacity(Memory.FLASH) or 0)
    yield size(need.ram)
    yield size(board.capacity(Memory.RAM) or 0)
    yield "fits" if cell.fits else "too big"


def _excess(cell: Cell) -> str:
    over = {} if cell.need is None else cell.need.over
    parts = [f"{size(excess)} over in {name}" for name, excess in over.items()]
    return f"{slug(cell.model)} on {cell.board.name}: {', '.join(parts)}" if parts else ""


def _document(cell: Cell) -> FitDocument:
    need, board = cell.need, cell.board
    return FitDocument(
        model=cell.model,
        board=board.name,
        flash=board.capacity(Memory.FLASH),
        ram=board.capacity(Memory.RAM),
        fits=cell.fits,
        need=None if need is None else _need(need),
    )


def _need(need: Need) -> NeedDocument:
    return NeedDocument(
        weights=need.program.constants,
        code=need.code.code,
        arena=need.program.arena,
        static=need.static,
        stack=need.stack,
        basis=need.code.basis.value,
        over=dict(need.over),
    )
