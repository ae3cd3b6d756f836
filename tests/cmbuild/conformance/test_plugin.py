"""The pytest plugin on tests of a user's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness.commands import Commands, Result

OWN = """
import torch
from executorch.backends.cortex_m.target_config import CortexM
from executorch.backends.cortex_m.test.tester import CortexMTester


class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y


def run(module, *inputs, target=None):
    CortexMTester(module, inputs, target_config=target).test_implementation(qtol=1)


def test_add(cortex_m_target):
    assert cortex_m_target.cpu is CortexM.M3
    run(Add(), torch.rand(2, 3), torch.rand(2, 3), target=cortex_m_target)


def test_baked_number():
    run(Add(), torch.rand(2, 3), 2.0)


def test_unsupported():
    class Distances(torch.nn.Module):
        def forward(self, x):
            return torch.cdist(x, x)

    run(Distances(), torch.rand(1, 6))


DRAWN = torch.rand(3).tolist()


def test_draws_the_same_numbers_as_it_did_when_it_was_imported():
    assert torch.rand(3).tolist() == DRAWN
"""


def run(cmbuild: Commands, *words: str | Path) -> Result:
    options = ("-p", "no:cacheprovider", "-p", "cmbuild.conformance.plugin")
    return cmbuild(*options, *words, program=("pytest",))


def test_own_tests_run_on_a_board(cmbuild: Commands) -> None:
    (cmbuild.folder / "test_own.py").write_text(OWN)
    result = run(cmbuild, "--cmbuild-board", "mps2-an385", "--basetemp", "programs", "test_own.py")
    assert (result.exit_code, result.stderr) == (1, "")
    assert "cmbuild: mps2-an385 (cortex-m3) on QEMU mps2-an385, TEST_SEED=0" in result.stdout
    assert "1 failed, 3 passed" in result.stdout
    ((first, second),) = re.findall(r"_ test_unsupported _+\n(.*)\n(.*)\n[=-]", result.stdout)
    assert first.startswith(
        "error: no kernel for 1 operator: aten::_cdist_forward.out (1×, first #2: "
    )
    assert "ops/" not in first
    assert second == (
        "  try: remove them from the model, or add kernels for them: docs/adding-an-op.md"
    )
    # What a program left is kept only if it failed on the board.
    assert list((cmbuild.folder / "programs").rglob("program.pte")) == []


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), r"ERROR: cmbuild.conformance.plugin needs --cmbuild-board, one of: .*native"),
        (("--cmbuild-board", "nativ"), r"ERROR: error: unknown board 'nativ'"),
        (
            ("--cmbuild-board", "native", "--cmbuild-isa", "mve"),
            r"ERROR: error: native does not support instruction set 'mve'",
        ),
    ],
)
def test_settings_that_make_no_sense(cmbuild: Commands, words: tuple[str, ...], error: str) -> None:
    result = run(cmbuild, *words)
    assert result.exit_code == pytest.ExitCode.USAGE_ERROR
    assert re.match(error, result.stderr)


def test_board_that_cannot_be_built_for_ends_it_all(cmbuild: Commands) -> None:
    board = cmbuild.folder / "boards" / "small"
    board.mkdir(parents=True)
    source = Path(__file__).parents[3] / "boards" / "mps2-an385"
    for file in source.iterdir():
        (board / file.name).write_bytes(file.read_bytes())
    (board / "board.c").write_text("this is not C\n")
    result = run(cmbuild, "--cmbuild-board", "small")
    assert result.exit_code == 1
    assert "board.c:1:1: error: unknown type name 'this'" in result.stdout + result.stderr
