"""A user's own model, from its Python file to a verified run: the one test here that exports."""

from __future__ import annotations

from pathlib import Path

from harness.commands import Commands

MODEL = """
import torch


def make():
    network = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 3)
    )
    return network, torch.rand(1, 1, 8, 8).contiguous(memory_format=torch.channels_last)
"""


def test_model_in_a_python_file(cmbuild: Commands) -> None:
    file = cmbuild.folder / "my models" / "tiny net.py"
    file.parent.mkdir()
    file.write_text(MODEL)
    words = ("run", "my models/tiny net.py:make", "--board", "native", "--json")
    first = cmbuild(*words, "-n", "2")
    assert first.exit_code == 0, first.stderr
    assert (first.document["verified"], first.document["model"]) == (True, "tiny_net-make")
    assert first.document["weights"]["source"] == "given"
    assert first.states["export"] == "done"
    assert cmbuild(*words, "-n", "2").done == {"simulate"}

    file.write_text(MODEL.replace("torch.nn.ReLU()", "torch.nn.Identity()"))
    changed = cmbuild(*words, "-n", "2")
    assert changed.done == {"export", "plan", "runner", "reference", "simulate"}

    file.write_text("def make():\n    return undefined\n")
    broken = cmbuild(*words)
    assert broken.exit_code == 2
    assert broken.document["error"].startswith(f"{Path('my models/tiny net.py')}:2: NameError")
