"""A page of a benchmark: cycles against RAM, and a row for each run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from cmbuild.benchmark.matrix import BenchCell
from cmbuild.report.bench import BenchReport, cycle_models, provenance
from cmbuild.report.html.chart import PlotAxis, Point, scatter
from cmbuild.report.html.environment import rendered
from cmbuild.text import count, plural, size

_CYCLES = PlotAxis("cycles of one inference", lambda value: count(round(value)).replace(".0 ", " "))
_RAM = PlotAxis("RAM: arena, variables and stack", lambda value: size(round(value)), is_binary=True)


def bench_page(cells: Sequence[BenchCell]) -> str:
    """The page. Its numbers are those of `cmbuild bench --json`, which it contains; each is a
    <data> whose `class` is its path there.
    """
    document = json.loads(BenchReport(cells).document(()).model_dump_json())
    models = dict.fromkeys(cell.model for cell in cells)
    boards = dict.fromkeys(cell.board for cell in cells)
    points = list(_points(cells))
    name = "cycles of each run against its RAM"
    return rendered(
        "bench.html.j2",
        document,
        "bench",
        title=f"{plural(len(models), 'model')} on {plural(len(boards), 'board')}",
        chart=scatter(points, _RAM, _CYCLES, name) if points else "",
        cycles=cycle_models(cells),
        provenance=provenance(cells) or "not counted",
    )


def _points(cells: Sequence[BenchCell]) -> Iterator[Point]:
    placed = [(cell, *place) for cell in cells if (place := _place(cell)) is not None]
    isas = {(cell.board, cell.isa) for cell, _, _ in placed}
    lower = len(isas) > len({board for board, _ in isas})
    for cell, ram, cycles in placed:
        others = [(r, c) for other, r, c in placed if other.model == cell.model]
        beaten = any(r <= ram and c <= cycles and (r, c) != (ram, cycles) for r, c in others)
        where = f"{cell.model} on {cell.board}, {cell.isa}, {cell.toolchain}"
        yield Point(
            ram,
            cycles,
            label=cell.model,
            group=f"{cell.board}, {cell.isa}" if lower else cell.board,
            detail=f"{where}: {cycles:,} cycles, {ram:,} bytes of RAM",
            stands_out=not beaten and len(others) > 1,
        )


def _place(cell: BenchCell) -> tuple[int, int] | None:
    """RAM and cycles of a verified run, if both are known."""
    run, cycles = cell.result, cell.cycles
    if run is None or cell.failure is not None or not cycles:
        return None
    ram = run.memory.ram.total
    return (ram, cycles) if ram > 0 else None
