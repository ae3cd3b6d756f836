"""The table of docs/misra.md, against a run of cppcheck's addon on the packages it names."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from harness.commands import Commands
from harness.exports import exported
from harness.sources import ROOT

_ROW = re.compile(r"^\| (\d+\.\d+) \| (\d+|–) \| (\d+|–) \|", re.MULTILINE)
_OPTIONS = ("--std=c11", "--platform=arm32-wchar_t4", "--suppress=missingIncludeSystem", "-q")
COLUMNS = {"cortex-m33": 0, "cortex-m55": 1}


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="cppcheck is not installed")
@pytest.mark.parametrize("target", COLUMNS)
def test_no_rule_has_more_deviations_than_listed(
    target: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cmbuild = Commands.in_folder_of(tmp_path, tmp_path_factory)
    rows = _ROW.findall((ROOT / "docs" / "misra.md").read_text())
    listed = {rule: int(counts[COLUMNS[target]].replace("–", "0")) for rule, *counts in rows}
    words = ("--target", target, "--name", "digits", "-o", "digits")
    made = cmbuild("package", exported("digits")[0] / "model.pte", *words)
    assert made.exit_code == 0, made.stderr
    folder = cmbuild.folder / "digits"
    files = [
        str(file.relative_to(folder))
        for pattern in ("*.c", "runtime/*.c")
        for file in folder.glob(pattern)
    ]
    words = ("cppcheck", "--addon=misra", *_OPTIONS, "-I.", *sorted(files))
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    counts = Counter(re.findall(r"\[misra-c2012-([0-9.]+)\]", done.stderr))
    assert counts, done.stdout
    more = {rule: count for rule, count in counts.items() if count > listed.get(rule, 0)}
    assert more == {}
