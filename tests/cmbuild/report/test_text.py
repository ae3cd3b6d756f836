"""Text as wide as the terminal."""

from __future__ import annotations

import pytest

from cmbuild.report import text
from cmbuild.report.lines import line


@pytest.mark.parametrize("columns", [20, 60, 80, 120, 200, 500])
def test_lines_follow_the_width(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    width = max(40, min(200, columns))
    assert text.width() == width
    rows = [("corstone300", "Arm Corstone-300 with Cortex-M55", "FVP or QEMU " * 20)]
    shown = text.table(("board", "what it is", "runs on"), rows)
    assert max(map(len, shown.splitlines())) <= width
    assert max(map(len, text.entry("input", "word " * 60).splitlines())) <= width
    status = "planned 1.6 s, ok"
    assert len(line("plan", "x" * 300, status)) <= width
    assert line("plan", "x" * 300, status).endswith(f"… {status}")


FITS = [
    ("keywords", "netduinoplus2", "~14.2 KB", "1.01 MB", "16.9 KB", "4.03 MB", "fits, 0.02 ms"),
    ("keywords", "corstone300", "≤48.3 KB", "8.5 MB", "16.9 KB", "4.5 MB", "too big"),
]


@pytest.mark.parametrize("columns", range(40, 201, 5))
def test_tables_keep_names_and_figures(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = text.table(("model", "board", "flash", "of", "RAM", "of", ""), FITS)
    lines = shown.splitlines()
    assert max(map(len, lines)) <= columns
    assert [cell for row in FITS for cell in row if cell not in shown] == []
    assert "…" not in shown
    if columns >= 60:
        assert len(lines) == (5 if columns < 77 else 3)


def test_a_table_without_room_cuts_the_widest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = text.table(("a", "b", "c"), [("long " * 20, "corstone300", "all of the reasons")])
    _, _, cells, reasons = shown.splitlines()
    assert len(cells) == 60 and cells.endswith("… corstone300")
    assert reasons == "    all of the reasons"


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (60, "…/kws.py:make"),
        (200, "models/speech/keywords/small/kws.py:make"),
    ],
)
def test_a_function_outlives_its_folders(
    monkeypatch: pytest.MonkeyPatch, columns: int, shown: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    subject = "models/speech/keywords/small/kws.py:make for a core"
    assert shown in line("export", subject, "cached")
