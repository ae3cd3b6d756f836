from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from cmbuild.report.fit_summary import by_model
from cmbuild.sizing.estimate import Basis


@dataclass
class Cell:
    """What a summary reads of one."""

    model: str
    board: Any
    need: Any
    fits: bool


def cells(model: str, fitting: int, others: int, basis: Basis = Basis.LIBRARY) -> list[Cell]:
    return [
        Cell(
            model,
            SimpleNamespace(name=f"board{number}"),
            SimpleNamespace(
                flash=(10 + number) * 1024, ram=2048, code=SimpleNamespace(basis=basis)
            ),
            number < fitting,
        )
        for number in range(fitting + others)
    ]


def row(model: list[Cell]) -> str:
    shown = by_model(model, 30, "--all")  # type: ignore[arg-type]
    return " ".join(shown.partition("\n")[2].split())


@pytest.mark.parametrize(
    ("fitting", "others", "told"),
    [
        (3, 0, "10 to 12 KB 2 KB all 3"),
        (0, 2, "10 to 11 KB 2 KB none"),
        (1, 2, "10 to 12 KB 2 KB 1 of 3: not board1, board2"),
        (5, 9, "10 to 23 KB 2 KB 5 of 14: board0, board1, board2, board3 and 1 other"),
        (6, 9, "10 to 24 KB 2 KB 6 of 15: board0, board1, board2, board3 and 2 others"),
    ],
)
def test_a_row_tells_where_a_model_fits(fitting: int, others: int, told: str) -> None:
    assert row(cells("net", fitting, others)) == f"net {told}"


def test_what_is_estimated_is_marked() -> None:
    assert "≈10 KB" in row(cells("net", 1, 0, Basis.TABLE))
    assert "≤10 KB" in row(cells("net", 1, 0, Basis.ASSUMED))
