"""The table of docs/misra.md, against a run of cppcheck's addon on the packages it names.

`./cmbuildw test --long tests/docs/test_misra.py --rewrite` writes its counts; the reason of a rule
that is new is yours to write.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from harness.commands import Commands
from harness.exports import exported
from harness.sources import ROOT

PAGE = ROOT / "docs" / "misra.md"
COLUMNS = {"cortex-m33": 0, "cortex-m55": 1}
_ROW = re.compile(r"^\| (\d+\.\d+) \| (\d+|–) \| (\d+|–) \|", re.MULTILINE)
_NUMBER = r"(\d{1,3}(?:,\d{3})*)"
_LINES = re.compile(rf"{_NUMBER} in {_NUMBER}\s+lines and {_NUMBER}\s+in {_NUMBER}")
_OPTIONS = ("--std=c11", "--platform=arm32-wchar_t4", "--suppress=missingIncludeSystem", "-q")


def listed(page: str, column: int) -> dict[str, int]:
    """Counts of a column of the page, by rule."""
    return {rule: int(counts[column].replace("–", "0")) for rule, *counts in _ROW.findall(page)}


def lines_of(page: str, column: int) -> int:
    """The lines of C that the page's counts are from."""
    match = _LINES.search(page)
    assert match is not None
    return int(match[2 * column + 2].replace(",", ""))


def rewritten(page: str, column: int, counts: Counter[str], lines: int) -> str:
    """The page with new counts; rules without a row stay out."""

    def row(match: re.Match[str]) -> str:
        cells = [match[2], match[3]]
        cells[column] = str(counts[match[1]]) if counts[match[1]] else "–"
        return f"| {match[1]} | {cells[0]} | {cells[1]} |"

    def totals(match: re.Match[str]) -> str:
        cells = list(match.groups())
        cells[2 * column : 2 * column + 2] = f"{counts.total():,}", f"{lines:,}"
        return f"{cells[0]} in {cells[1]} lines and {cells[2]} in {cells[3]}"

    return _LINES.sub(totals, _ROW.sub(row, page))


def test_counts_are_rewritten_and_reasons_stay() -> None:
    page = "10 in 100\nlines and 20 in 200\n\n| 2.2 | 2 | – | why |\n| 9.2 | 8 | 20 | because |\n"
    written = rewritten(page, 1, Counter({"2.2": 3, "9.2": 0}), 1234)
    assert (listed(written, 0), listed(written, 1)) == ({"2.2": 2, "9.2": 8}, {"2.2": 3, "9.2": 0})
    assert "10 in 100 lines and 3 in 1,234\n" in written
    assert (lines_of(written, 0), lines_of(written, 1)) == (100, 1234)
    assert "| why |" in written
    assert "| because |" in written


def test_the_page_adds_up() -> None:
    match = _LINES.search(PAGE.read_text())
    assert match is not None
    totals = [int(match[i].replace(",", "")) for i in (1, 3)]
    assert totals == [sum(listed(PAGE.read_text(), column).values()) for column in (0, 1)]


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="cppcheck is not installed")
@pytest.mark.parametrize("target", COLUMNS)
def test_rules_have_no_more_deviations_a_line_than_listed(
    target: str,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> None:
    """A new rule needs a reason; a new kernel may deviate as often as the others."""
    cmbuild = Commands.in_folder_of(tmp_path, tmp_path_factory)
    words = ("--target", target, "--name", "digits", "-o", "digits")
    made = cmbuild("package", exported("digits")[0] / "model.pte", *words)
    assert made.exit_code == 0, made.stderr
    folder, column = cmbuild.folder / "digits", COLUMNS[target]
    files = [
        str(file.relative_to(folder))
        for pattern in ("*.c", "runtime/*.c")
        for file in folder.glob(pattern)
    ]
    words = ("cppcheck", "--addon=misra", *_OPTIONS, "-I.", *sorted(files))
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    counts = Counter(re.findall(r"\[misra-c2012-([0-9.]+)\]", done.stderr))
    assert counts, done.stdout
    sources = [*folder.glob("*.[ch]"), *folder.glob("runtime/**/*.[ch]")]
    lines = sum(len(file.read_text().splitlines()) for file in sources)
    page = PAGE.read_text()
    if request.config.getoption("rewrite"):
        page = rewritten(page, column, counts, lines)
        PAGE.write_text(page)
    known, growth = listed(page, column), max(1.0, lines / lines_of(page, column))
    assert counts.keys() - known.keys() == set()
    allowed = {rule: math.ceil(count * growth) for rule, count in known.items()}
    more = {rule: count for rule, count in counts.items() if count > allowed[rule]}
    assert more == {}
