"""docs/models.md is accurate."""

from __future__ import annotations

import re
from pathlib import Path

from cmcompiler.frontend.job import PROGRAM, RECORD, SAMPLES
from cmcompiler.frontend.source import find_source
from cmcompiler.target import BEST_ISA

TEXT = (Path(__file__).parents[3] / "docs" / "models.md").read_text()


def test_the_example_of_a_model_of_ones_own_is_one(tmp_path):
    examples = re.findall(r"```python\n(import torch\n.*?)```", TEXT, re.DOTALL)
    (code,) = (example for example in examples if "def model" in example)
    (tmp_path / "net.py").write_text(code)
    model = find_source(str(tmp_path / "net.py")).load(seed=0)
    assert model.module(*model.example_inputs).shape == (1, 4)
    assert len(model.calibration) == 100


def test_files_and_targets_are_named():
    for name in (PROGRAM, SAMPLES, RECORD):
        assert f"`{name}`" in TEXT
    named = set(re.findall(r"`(?:cortex-)?(m\d+\w*)`", TEXT.partition("Targets are")[2]))
    assert named == {cpu.removeprefix("cortex-") for cpu in BEST_ISA}
