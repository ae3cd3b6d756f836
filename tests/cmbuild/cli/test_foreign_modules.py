"""Python files that lie where a command is run, or beside a model: what is imported of them."""

from __future__ import annotations

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


def test_the_working_folder_is_not_imported_from(intruders: Commands) -> None:
    model = intruders.folder / "nets"
    model.mkdir()
    (model / "net.py").write_text(NET)
    (model / "helper.py").write_text("width = 8\n")
    done = intruders.alone("export", "nets/net.py:make", "--target", "cortex-m0plus")
    assert (done.exit_code, done.stderr) == (0, "")


def test_neighbours_of_a_model_come_after_what_is_installed(intruders: Commands) -> None:
    (intruders.folder / "net.py").write_text(NET)
    (intruders.folder / "helper.py").write_text("width = 8\n")
    done = intruders.alone("export", "net.py:make", "--target", "cortex-m0plus")
    assert (done.exit_code, done.stderr) == (0, "")


def test_a_run_of_a_program(intruders: Commands) -> None:
    done = intruders.alone("run", NETWORK, "--board", "native")
    assert (done.exit_code, done.stderr) == (0, "")
