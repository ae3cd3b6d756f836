"""Models × boards: what fits, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.boards.memory import Memory
from cmbuild.cache.folders import slug
from cmbuild.cycles.counter import core_title
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document
from cmbuild.report.text import indented, table
from cmbuild.sizing.estimate import Basis
from cmbuild.sizing.fits import Cell
from cmbuild.sizing.results import FitResult, PredictedCycles
from cmbuild.text import size

_BASIS = {
    Basis.RELATED: (
        "~",
        "code estimated from the library of another core with the same instruction set",
    ),
    Basis.TABLE: ("≈", "code as a table of kernels has it, because no library has been built yet"),
    Basis.ASSUMED: ("≤", "code is an upper bound, because no library has been built yet"),
}


class FitsDocument(Document):
    fits: tuple[FitResult, ...]


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
        if gains := [line for cell in known if (line := _gain(cell))]:
            text.append("\n")
        for line in gains:
            text.append(f"\n{indented(line, 2)}")
        for basis, (mark, meaning) in _BASIS.items():
            if any(cell.need is not None and cell.need.code.basis is basis for cell in known):
                text.append(f"\n\n{indented(f'{mark} {meaning}; arena and weights are exact', 2)}")
        if errors := _errors(known):
            told = f"time predicted without a run, at zero wait states: within {errors}"
            text.append(f"\n\n{indented(told, 2)}")
        if unknown := dict.fromkeys(cell.model for cell in self.cells if cell.need is None):
            names = " ".join(unknown)
            text.append(f"\n\n{indented(f'not exported yet: {names}', 2)}")
            text.append(f"\n{indented(f'try: cmbuild fit {names} --export', 4)}")
        return text

    def document(self, steps: Sequence[StepOutcome]) -> FitsDocument:
        return FitsDocument(fits=tuple(cell.result for cell in self.cells))


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
    # Code that a board copies to RAM counts there, too.
    yield (mark if need.code.hot else "") + size(need.ram)
    yield size(board.capacity(Memory.RAM) or 0)
    yield f"fits{_time(cell.cycles)}" if cell.fits else "too big"


def _time(cycles: PredictedCycles | None) -> str:
    """`, 33 ms`, or cycles where the clock is not known; two digits, as it is predicted."""
    if cycles is None:
        return ""
    if cycles.milliseconds is None:
        return f", {float(f'{cycles.total / 1e6:.2g}'):g} M cycles"
    milliseconds = float(f"{cycles.milliseconds:.2g}")
    return f", {milliseconds / 1e3:g} s" if milliseconds >= 1000 else f", {milliseconds:g} ms"


def _errors(cells: Sequence[Cell]) -> str:
    """`8 % on the Cortex-M4, …`, where the zoo's differ most from the simulator's."""
    known = {
        cell.board.cpu: cell.cycles.error_percent for cell in cells if cell.fits and cell.cycles
    }
    return ", ".join(f"{error} % on the {core_title(cpu)}" for cpu, error in known.items())


def _excess(cell: Cell) -> str:
    over = {} if cell.need is None else cell.need.over
    parts = [f"{size(excess)} over in {name}" for name, excess in over.items()]
    return f"{slug(cell.model)} on {cell.board.name}: {', '.join(parts)}" if parts else ""


def _gain(cell: Cell) -> str:
    """`resnet8 on mine: int16 weights take 77 KB more flash and save 6 % of the cycles`."""
    wide, cycles = cell.wide, cell.cycles
    if wide is None:
        return ""
    # Kernels for int16 are smaller, which outweighs the weights of the smallest models.
    flash = f"{size(abs(wide.flash))} {'less' if wide.flash < 0 else 'more'} flash"
    told = f"{slug(cell.model)} on {cell.board.name}: int16 weights take {flash}"
    if wide.cycles is None or cycles is None:
        return f"{told}; cycles not predicted"
    share = wide.cycles / (cycles.total + wide.cycles)
    return f"{told} and save {share:.0%} of the cycles"
