"""The recipe of docs/accuracy.md for training with quantisation, followed literally."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from harness.document import Command, File, sections, steps

ROOT = Path(__file__).parents[2]
RECIPE = sections((ROOT / "docs" / "accuracy.md").read_text())["Training with quantisation"]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_training_with_quantisation(tmp_path: Path) -> None:
    environment = {**os.environ, "CMBUILD_CACHE": str(tmp_path / "cache")}
    collected = {}
    for step in steps(RECIPE):
        if isinstance(step, File):
            step.write(tmp_path)
            continue
        assert isinstance(step, Command)
        program, *rest = step.words
        command = [sys.executable, *([] if program == "python" else ["-m", program]), *rest]
        ended = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        collected[" ".join(step.words)] = re.findall(
            r"^  (float|reference) +([\d.]+) %", ended.stdout, re.M
        )
    plain = dict(collected["cmbuild eval net.py"])
    trained = dict(collected["cmbuild eval net.py:aware --weights aware.pt"])
    assert float(trained["reference"]) >= float(plain["reference"])
    assert float(trained["reference"]) >= float(plain["float"])
    for name in ("narrow", "mixed"):
        other = dict(collected[f"cmbuild eval net.py:{name} --weights {name}.pt"])
        assert float(other["reference"]) >= float(trained["reference"]) - 0.5
