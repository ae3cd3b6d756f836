"""The rows of a benchmark as files: CSV for spreadsheets, Markdown for documents."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Sequence

from cmbuild.benchmark.matrix import BenchCell
from cmbuild.benchmark.upstream import measurements
from cmbuild.pipeline.request import NARROW
from cmbuild.report.bench import CellDocument, cycle_models, provenance

Plain = str | int | float | None


def to_csv(cells: Sequence[BenchCell]) -> str:
    """One line per cell, with a header; unknown values are empty."""
    rows = [_flat(CellDocument.of(cell)) for cell in cells]
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def to_markdown(cells: Sequence[BenchCell], command: str) -> str:
    """A document: a table, the command that made it, and where its figures come from."""
    header = (
        *("model", "board", "isa", "toolchain", "verified", "instructions", "upstream", "ratio"),
        *("MAC/instruction", "cycles", "flash", "RAM"),
    )
    table = [_row(header), _row(["---"] * 5 + ["---:"] * 7), *map(_row, map(_shown, cells))]
    notes = [
        f"Instructions are those of one inference, never cycles: {provenance(cells)}. "
        "Flash and RAM are bytes; RAM is arena, variables and the reserved stack.",
        f"Cycles are estimates, which docs/cycles.md explains: {cycle_models(cells)}.",
        f"Upstream: {measurements().about} The ratio is upstream's instructions by cmbuild's.",
    ]
    paragraphs = ["# Models on boards", f"`{command}` makes this table."]
    wrapped = (
        textwrap.fill(note, 100, break_long_words=False, break_on_hyphens=False) for note in notes
    )
    return "\n\n".join([*paragraphs, "\n".join(table), *wrapped]) + "\n"


COLUMNS = (
    *("model", "board", "target", "isa", "toolchain", "executor", "weights"),
    *("launcher", "verified", "rule", "failure"),
    *("macs", "instructions", "provenance", "caveat", "mac_per_instruction"),
    *("cycles", "cycles_error_percent", "cycles_with_flash", "milliseconds"),
    *("upstream_instructions", "ratio"),
    *("flash_code", "flash_weights", "flash_total"),
    *("ram_arena", "ram_static", "ram_stack", "ram_total"),
    *("upstream_code", "upstream_ram"),
)
"""Columns of the CSV file."""


def _flat(cell: CellDocument) -> dict[str, Plain]:
    fields: dict[str, Plain] = cell.model_dump(include=set(COLUMNS))
    if cell.memory is not None:
        flash, ram = cell.memory.flash, cell.memory.ram
        fields |= {f"flash_{name}": getattr(flash, name) for name in ("code", "weights", "total")}
        names = ("arena", "static", "stack", "total")
        fields |= {f"ram_{name}": getattr(ram, name) for name in names}
    if cell.upstream is not None:
        fields |= {f"upstream_{name}": value for name, value in cell.upstream.model_dump().items()}
    return fields


def _shown(cell: BenchCell) -> list[str]:
    run, upstream = cell.result, cell.upstream
    return [
        cell.model,
        cell.board if cell.caveat is None else f"{cell.board} ({cell.caveat})",
        cell.isa if cell.weights == NARROW else f"{cell.isa}, {cell.weights} weights",
        cell.toolchain if cell.executor == "static" else f"{cell.toolchain}, {cell.executor}",
        f"no: {cell.failure}" if cell.failure or run is None else run.verification.rule,
        "" if cell.instructions is None else f"{cell.instructions:,}",
        "" if upstream is None else f"{upstream.instructions:,}",
        "" if cell.ratio is None else f"{cell.ratio:.2f}×",
        "" if cell.efficiency is None else f"{cell.efficiency:.2f}",
        "" if cell.cycles is None else f"{cell.cycles:,}",
        "" if run is None else f"{run.memory.flash.total:,}",
        "" if run is None else f"{run.memory.ram.total:,}",
    ]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
