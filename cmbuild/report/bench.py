"""Many models on many boards, one row each, for people and for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.benchmark.matrix import BenchCell
from cmbuild.benchmark.upstream import measurements
from cmbuild.display.mixture import MixResult
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report import text
from cmbuild.report.documents import Document, StepDocument
from cmbuild.report.mix import kept
from cmbuild.report.screen import BAD, FAINT, GOOD
from cmbuild.results import MemoryUse
from cmbuild.text import count, size

_NONE = "–"
_HEADER = ("board", "isa", "verified", "instr", "upstream", "ratio", "cycles", "flash", "RAM")
_COMPARING = ("board", "isa", "verified", "instr", "by", "gain", "cycles", "flash", "RAM")
_WIDTHS = (-12, -7, -10, 8, 9, 6, 8, 9, 9)  # of columns
_FIRST_TO_GO = (
    ("upstream", "ratio", "cycles", "verified", "isa"),
    ("flash", "RAM", "cycles", "verified", "isa"),
)
"""Columns that a narrow terminal does without, and those if cells are compared."""


class UpstreamDocument(Document):
    """`code` is flash without the program; bytes."""

    instructions: int
    code: int
    ram: int


class CellDocument(Document):
    """Unknown values are null. `failure` says why there is no verified result."""

    model: str
    board: str
    target: str
    isa: str
    toolchain: str
    executor: str
    weights: str
    launcher: str | None
    verified: bool
    rule: str | None
    failure: str | None
    macs: int | None
    instructions: int | None
    provenance: str | None
    caveat: str | None
    mac_per_instruction: float | None
    cycles: int | None
    cycles_error_percent: int | None
    cycles_with_flash: int | None
    milliseconds: float | None
    memory: MemoryUse | None
    mix: MixResult | None
    upstream: UpstreamDocument | None
    ratio: float | None

    @classmethod
    def of(cls, cell: BenchCell) -> CellDocument:
        fields = dict.fromkeys(cls.model_fields) | {
            **{name: getattr(cell, name) for name in cls.model_fields if hasattr(cell, name)},
            "verified": cell.failure is None,
            "mac_per_instruction": _rounded(cell.efficiency),
            "ratio": _rounded(cell.ratio),
        }
        if (run := cell.result) is not None:
            fields |= {
                "launcher": run.launcher,
                "rule": run.verification.rule,
                "macs": run.macs,
                "provenance": run.instructions.provenance,
                "memory": run.memory,
                "mix": run.mix,
            }
            if run.cycles is not None and not cell.is_measured:
                fields["cycles_error_percent"] = run.cycles.error_percent
        return cls.model_validate(fields)


class BenchDocument(Document):
    """`cmbuild bench`; `error`, `hint` and `exit_code` are present only if a cell failed."""

    verbs = ("bench",)
    cells: tuple[CellDocument, ...]
    upstream: str
    steps: tuple[StepDocument, ...]


@dataclass(frozen=True, slots=True)
class BenchReport:
    """Implements Report."""

    cells: Sequence[BenchCell]

    def screen(self) -> Text:
        widths = self._widths()
        lines = [Text(_line(_COMPARING if self._compares else _HEADER, widths), FAINT)]
        for model in dict.fromkeys(cell.model for cell in self.cells):
            cells = [cell for cell in self.cells if cell.model == model]
            lines.append(_heading(model, cells))
            for cell in cells:
                name = self._name(cell)
                lines += _rows(cell, self._base(cell), name, self._gains_cycles, widths)
                if cell.result is not None and cell.result.mix is not None:
                    lines.append(Text(text.indented(kept(cell.result.mix), 4)))
        return Text("\n").join([*lines, Text(), *map(Text, self._legend())])

    def document(self, steps: Sequence[StepOutcome]) -> BenchDocument:
        return BenchDocument(
            cells=tuple(map(CellDocument.of, self.cells)),
            upstream=measurements().about,
            steps=tuple(map(StepDocument.of, steps)),
        )

    @property
    def _compares(self) -> bool:
        """Toolchains, executors or types of weights, if several: compared instead of upstream."""
        places = {(cell.board, cell.isa) for cell in self.cells}
        return len(places) < len({(c.board, c.isa, *_variant(c)) for c in self.cells})

    @property
    def _gains_cycles(self) -> bool:
        """Whether cycles are compared: with other weights, as many instructions take fewer."""
        return len({(cell.toolchain, cell.executor) for cell in self.cells}) == 1

    def _widths(self) -> tuple[int, ...]:
        """Widths of the columns; 0 for those that have no room."""
        header = _COMPARING if self._compares else _HEADER
        room = text.width() - 2 - sum(map(abs, _WIDTHS))
        longest = max((len(cell.board) + 1 for cell in self.cells), default=0)
        widths = [min(_WIDTHS[0], -min(longest, room - _WIDTHS[0])), *_WIDTHS[1:]]
        for name in _FIRST_TO_GO[self._compares]:
            if room < 0:
                column = header.index(name)
                room += abs(widths[column])
                widths[column] = 0
        return tuple(widths)

    def _name(self, cell: BenchCell) -> str:
        """A name that tells the cell from the others of its model and board."""
        if len({each.weights for each in self.cells}) > 1:
            return cell.weights
        if len({each.executor for each in self.cells}) == 1:
            return cell.toolchain
        return "static" if cell.executor == "static" else "upstream"

    def _base(self, cell: BenchCell) -> BenchCell | None:
        """The cell of the first toolchain, executor or type of weights, if several."""
        if not self._compares:
            return None
        place = (cell.model, cell.board, cell.isa)
        return next(c for c in self.cells if (c.model, c.board, c.isa) == place)

    def _legend(self) -> Iterator[str]:
        if ways := provenance(self.cells):
            yield text.entry("instr", f"instructions of one inference, never cycles: {ways}")
        if models := cycle_models(self.cells):
            yield text.entry("cycles", f"of one inference: {models}")
        waits = [c for c in self.cells if c.cycles_with_flash is not None]
        for cell in waits:
            place = f"{cell.model} on {cell.board}, {self._name(cell)}"
            yield text.entry("", f"with flash: {place}: {count(cell.cycles_with_flash or 0)}")
        for board, caveat in dict.fromkeys((c.board, c.caveat) for c in self.cells if c.caveat):
            yield text.entry("note", f"{board}: {caveat}")
        if self._compares:
            first = self._name(self.cells[0])
            what = "cycles" if self._gains_cycles else "instructions"
            yield text.entry("gain", f"{what} with {first}, by this one's")
        elif any(cell.ratio for cell in self.cells):
            told = measurements().about.partition(",")[0]
            yield text.entry("upstream", f"instructions of {told}; ratio: by cmbuild")


def provenance(cells: Sequence[BenchCell]) -> str:
    """How instructions were counted, if they were."""
    ways = (
        cell.result.instructions.provenance
        for cell in cells
        if cell.result is not None and cell.instructions
    )
    return "; ".join(dict.fromkeys(ways))


def cycle_models(cells: Sequence[BenchCell]) -> str:
    """The models that measured or estimated the cycles, if any did."""
    runs = [(cell.result, cell.is_measured) for cell in cells if cell.result is not None]
    measured = {run.instructions.provenance: None for run, is_measured in runs if is_measured}
    models = [run.cycles for run, is_measured in runs if run.cycles is not None and not is_measured]
    return "; ".join(dict.fromkeys([*measured, *(cycles.basis for cycles in models)]))


def _heading(model: str, cells: Sequence[BenchCell]) -> Text:
    macs = next((cell.result.macs for cell in cells if cell.result is not None), None)
    return Text(f"  {model}" if macs is None else f"  {model}, {count(macs)} MACs", "bold")


def _variant(cell: BenchCell) -> tuple[str, ...]:
    return cell.toolchain, cell.executor, cell.weights


def _rows(
    cell: BenchCell,
    base: BenchCell | None,
    name: str,
    gains_cycles: bool,
    widths: Sequence[int],
) -> Iterator[Text]:
    """
    Args:
        base: to compare with; compares with upstream if None.
        name: of the toolchain, executor or weights that distinguish it from its base.
        gains_cycles: compare cycles with the base's, rather than instructions.
    """
    run, upstream = cell.result, cell.upstream
    other = _count(None if upstream is None else upstream.instructions)
    ratio = cell.ratio
    if base is not None:
        other, ratio = name, None  # the column has another name
        before, after = base.instructions, cell.instructions
        if gains_cycles:
            before, after = base.cycles, cell.cycles
        if before and after:
            ratio = before / after
    verified = "✗ no" if run is None or cell.failure else run.verification.rule
    row = Text(
        _line(
            (
                text.fit(cell.board, -widths[0] - 1),
                cell.isa,
                verified,
                _count(cell.instructions),
                other,
                _NONE if ratio is None else f"{ratio:.2f}×",
                _count(cell.cycles),
                _NONE if run is None else size(run.memory.flash.total),
                _NONE if run is None else size(run.memory.ram.total),
            ),
            widths,
        )
    )
    # Without a column for the verdict, the board's name has its colour.
    start, length = 2 - widths[0] - widths[1], len(verified)
    if not widths[2]:
        start, length = 2, -widths[0]
    row.stylize(BAD if cell.failure else GOOD, start, start + length)
    yield row
    if cell.failure is not None:
        indent = " " * 6
        told = textwrap.fill(
            cell.failure, text.width(), initial_indent=indent, subsequent_indent=indent
        )
        yield Text(told, BAD)


def _line(columns: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        column.ljust(-width) if width < 0 else column.rjust(width)
        for column, width in zip(columns, widths, strict=True)
        if width
    )
    return "  " + "".join(padded)


def _count(number: int | None) -> str:
    """At least three significant digits: `4.81 M`, `166.5 M`."""
    if number is None:
        return _NONE
    for unit, scale in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= scale:
            return f"{number / scale:.{2 if number < 100 * scale else 1}f} {unit}"
    return str(number)


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 3)
