"""The examples of docs/compiler.md are one program, and it runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cmcompiler import api

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "compiler.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)


@pytest.mark.timeout(600)
def test_each_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = []
    for example in EXAMPLES:
        exec(compile(example, "docs/compiler.md", "exec"), names)
        printed.append(capsys.readouterr().out)
    compiled, ports, placed, outputs, plan, loaded, package, error = printed
    assert "for cortex-m55" in compiled
    assert ports.startswith("input float32 (1, 1, 8, 8) contiguous 0.0039")
    assert "conv2d 3×3 mve" in placed
    assert re.fullmatch(r"8 samples, within 0\.0\d\d of the float module\n", outputs)
    assert "bytes of arena" in plan
    assert loaded == "cortex-m0plus scalar\ncortex-m55 mve\n"
    assert "small.h" in package
    assert error.startswith("invalid cannot read README.md")
    assert (tmp_path / "small.pte").is_file()


def test_every_public_function_is_in_the_table() -> None:
    functions = {
        name
        for name, value in vars(api).items()
        if callable(value)
        and not isinstance(value, type)
        and not name.startswith("_")
        and value.__module__ == api.__name__
    }
    assert functions == set(re.findall(r"^\| `(\w+)\(", TEXT, re.M))
