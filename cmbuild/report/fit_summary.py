"""Models × boards in a screen: a row for each model, or for each board of one model."""

from __future__ import annotations

from collections.abc import Sequence

from cmbuild.cache.folders import slug
from cmbuild.report.text import short_table
from cmbuild.sizing.estimate import Basis
from cmbuild.sizing.fits import Cell
from cmbuild.text import plural, size

MARKS = {Basis.RELATED: "~", Basis.TABLE: "≈", Basis.ASSUMED: "≤"}
"""Marks before sizes whose code is estimated, the least certain last."""

_NAMED = 4  # boards by name


def by_model(cells: Sequence[Cell], room: int, hint: str) -> str:
    """`mv2    3.62 to 3.68 MB    132 to 150 KB    9 of 29: corstone300, …`"""
    models: dict[str, list[Cell]] = {}
    for cell in cells:
        models.setdefault(cell.model, []).append(cell)
    rows = [
        (
            slug(model),
            _mark(same) + _span([cell.need.flash for cell in same if cell.need]),
            _span([cell.need.ram for cell in same if cell.need]),
            _boards(same),
        )
        for model, same in models.items()
    ]
    return short_table(("model", "flash", "RAM", "fits boards"), rows, room, hint)


def _mark(cells: Sequence[Cell]) -> str:
    """The mark of the least certain."""
    bases = {cell.need.code.basis for cell in cells if cell.need}
    marks = [mark for basis, mark in MARKS.items() if basis in bases]
    return marks[-1] if marks else ""


def _span(sizes: Sequence[int]) -> str:
    """`3.62 to 3.68 MB`; each core has its own code."""
    least, most = size(min(sizes)), size(max(sizes))
    value, unit = least.split()
    if least == most:
        return most
    return f"{value if most.endswith(f' {unit}') else least} to {most}"


def _boards(cells: Sequence[Cell]) -> str:
    """All, all but a few, or the first few."""
    fitting = [cell.board.name for cell in cells if cell.fits]
    others = [cell.board.name for cell in cells if not cell.fits]
    if not others:
        return f"all {len(fitting)}"
    if not fitting:
        return "none"
    told = f"{len(fitting)} of {len(cells)}"
    if len(others) <= _NAMED:
        return f"{told}: not {', '.join(others)}"
    rest = len(fitting) - _NAMED
    more = f" and {plural(rest, 'other')}" if rest > 0 else ""
    return f"{told}: {', '.join(fitting[:_NAMED])}{more}"
