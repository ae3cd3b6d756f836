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
from cmbuild.report.fit_summary import MARKS, by_model
from cmbuild.report.mix import mix_lines
from cmbuild.report.text import SCREEN, indented, short_table, table
from cmbuild.sizing.estimate import Basis
from cmbuild.sizing.fits import Cell
from cmbuild.sizing.results import FitResult, PredictedCycles, RamCurveResult
from cmbuild.text import size

_BASIS = {
    Basis.RELATED: "code estimated from the library of another core with the same instruction set",
    Basis.TABLE: "code as a table of kernels has it, because no library has been built yet",
    Basis.ASSUMED: "code is an upper bound, because no library has been built yet",
}


class FitsDocument(Document):
    verbs = ("fit",)
    fits: tuple[FitResult, ...]


_ALL = "--all lists them"


@dataclass(frozen=True, slots=True)
class FitReport:
    """Implements Report: on a screen, unless everything is asked for.

    Attributes:
        by_board: boards were named, so that each model has a row for each.
    """

    cells: Sequence[Cell]
    by_board: bool = True
    everything: bool = True

    def screen(self) -> Text:
        known = [cell for cell in self.cells if cell.need is not None]
        notes = [line for note in self._notes(known) for line in note.splitlines()]
        return Text("\n".join([*self._tables(known, len(notes)), *notes]))

    def _tables(self, known: Sequence[Cell], notes: int) -> Iterator[str]:
        header, rows = ("model", "board", "flash", "of", "RAM", "of", ""), _rows(known)
        over = [line for cell in known if (line := _excess(cell))]
        if self.everything:
            yield table(header, rows)
            yield from _paragraph(over)
            return
        room = SCREEN - 1 - notes
        if self.by_board:
            # The error below the screen says what does not fit, too.
            over = over[:_FEW]
            yield short_table(header, rows, room - len(over) - 3, _ALL)
            yield from _paragraph(over)
        elif len({cell.model for cell in known}) > 1:
            yield by_model(known, room, _ALL)
        else:
            pairs = sorted(zip(known, rows, strict=True), key=lambda pair: not pair[0].fits)
            yield short_table(header[1:], [row[1:] for _, row in pairs], room, _ALL)

    def _notes(self, known: Sequence[Cell]) -> Iterator[str]:
        yield from _paragraph([line for cell in known if (line := _gain(cell))])
        for cell in known:
            if cell.curve is not None:
                yield f"\n{_curve(cell, cell.curve)}"
        for cell in known:
            if cell.mix is not None:
                yield "\n".join(["", *mix_lines(cell.mix)])
        bases = {cell.need.code.basis for cell in known if cell.need is not None}
        estimated = [f"{MARKS[basis]} {told}" for basis, told in _BASIS.items() if basis in bases]
        if estimated:
            estimated[-1] += "; arena and weights are exact"
        for basis, errors in _errors(known).items():
            if self.everything or self.by_board:
                told = ", ".join(
                    f"{worst} % on the {core_title(cpu)}" for cpu, worst in errors.items()
                )
                estimated.append(f"time predicted without a run, {basis}: within {told}")
            elif len({cell.model for cell in known}) == 1:
                within = f"within {max(errors.values())} %"
                estimated.append(f"time predicted without a run, {basis}: {within}")
        yield from _paragraph(estimated)
        if unknown := dict.fromkeys(cell.model for cell in self.cells if cell.need is None):
            names = " ".join(unknown)
            words = ["cmbuild fit", *([names] if len(unknown) <= _NAMED else []), "--export"]
            lacking = [f"not exported yet: {names}", f"try: {' '.join(words)}"]
            yield from _paragraph(lacking)

    def document(self, steps: Sequence[StepOutcome]) -> FitsDocument:
        return FitsDocument(fits=tuple(cell.result for cell in self.cells))


_FEW = 8  # models that do not fit
_NAMED = 3  # models without a program, by name in the hint


def _paragraph(lines: Sequence[str]) -> Iterator[str]:
    """Lines below an empty one; nothing if there are none."""
    if lines:
        yield "\n".join(["", *(indented(line, 2) for line in lines)])


def _rows(cells: Sequence[Cell]) -> list[tuple[str, ...]]:
    return [tuple(_row(cell)) for cell in cells]


def _row(cell: Cell) -> Iterator[str]:
    need, board = cell.need, cell.board
    assert need is not None
    mark = MARKS.get(need.code.basis, "")
    yield slug(cell.model)
    yield board.name
    yield mark + size(need.flash)
    yield size(board.capacity(Memory.FLASH) or 0)
    # Code that a board copies to RAM counts there, too.
    yield (mark if need.code.hot else "") + size(need.ram)
    yield size(board.capacity(Memory.RAM) or 0)
    yield f"fits{_time(cell.cycles)}" if cell.fits else "too big"


def _curve(cell: Cell, curve: RamCurveResult) -> str:
    """A line for each plan: the budget to name, and what comes of it."""
    head = f"{slug(cell.model)} on {cell.board.name}: RAM against time"
    usual = f"{curve.usual:,} bytes of arena without --ram-budget"
    rows = [
        (
            str(point.ram_budget),
            f"{point.arena:,}",
            f"{point.ram:,}",
            "–" if point.cycles is None else f"{float(f'{point.cycles.total / 1e6:.3g}'):g} M",
            "–" if (share := curve.slower(point)) is None else f"{share:+.1%}",
            "" if point.fits else "too big",
        )
        for point in curve.points
    ]
    columns = ("--ram-budget", "arena", "RAM", "cycles", "more", "")
    return f"{indented(f'{head}; {usual}', 2)}\n{table(columns, rows)}"


def _time(cycles: PredictedCycles | None) -> str:
    """`, 33 ms`, or cycles where the clock is not known; two digits, as it is predicted."""
    if cycles is None:
        return ""
    if cycles.with_flash is not None:
        return f", {_duration(cycles.with_flash.milliseconds)} with flash"
    if cycles.milliseconds is None:
        return f", {float(f'{cycles.total / 1e6:.2g}'):g} M cycles"
    return f", {_duration(cycles.milliseconds)}"


def _duration(milliseconds: float) -> str:
    rounded = float(f"{milliseconds:.2g}")
    return f"{rounded / 1e3:g} s" if rounded >= 1000 else f"{rounded:g} ms"


def _errors(cells: Sequence[Cell]) -> dict[str, dict[str, int]]:
    """How far predictions differ from the simulator at most, in percent, by core, for times at zero
    wait states and for those with flash.
    """
    errors: dict[str, dict[str, int]] = {}
    for cell in cells:
        if cell.fits and (cycles := cell.cycles) is not None:
            flash = cycles.with_flash
            basis = "at zero wait states"
            if flash is not None:
                basis = f"with flash at {flash.clock_hz / 1e6:g} MHz"
            worst = cycles.error_percent if flash is None else flash.error_percent
            errors.setdefault(basis, {})[cell.board.cpu] = worst
    return errors


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
