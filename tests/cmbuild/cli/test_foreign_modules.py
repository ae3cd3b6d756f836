"""Python files that lie where a command is run, or beside a model: what is imported of them."""

from __future__ import annotations

import shutil

import pytest
from harness.commands import NETWORK, Commands

NET = """
import torch
from helper import width

def make():
    torch.manual_seed(0)
    return torch.nn.Linear(width, 3), torch.randn(1, width), [torch.randn(1, width)]
"""
INTRUDERS = ("cmcompiler", "numpy", "torch", "json", "executorch")


@pytest.fixture
def intruders(cmbuild: Commands) -> Commands:
    """A working folder with modules that shout when they are run."""
    for name in INTRUDERS:
        (cmbuild.folder / f"{name}.py").write_text(f"raise SystemExit('{name} of the folder')\n")
    return cmbuild


def test_installed_modules_come_before_those_of_the_folders(intruders: Commands) -> None:
    """The working folder is not imported from, and a model's own after all else."""
    model = intruders.folder / "nets"
    model.mkdir()
    for file in intruders.folder.glob("*.py"):
        shutil.copy(file, model)
    (model / "net.py").write_text(NET)
    (model / "helper.py").write_text("width = 8\n")
    done = intruders.alone("export", "nets/net.py:make", "--target", "cortex-m0plus", "-v")
    assert (done.exit_code, done.stderr) == (0, "")
    assert " cmcompiler export " in done.stdout


def test_a_run_of_a_program(intruders: Commands) -> None:
    done = intruders.alone("run", NETWORK, "--board", "native")
    assert (done.exit_code, done.stderr) == (0, "")
