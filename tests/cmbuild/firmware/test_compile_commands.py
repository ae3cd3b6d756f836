"""Commands for editors: each compiles its file, before a build and after one."""

from __future__ import annotations

import json
import subprocess
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from harness.commands import NETWORK, Commands

from cmbuild.boards.registry import board_folders
from cmbuild.catalog import find_board
from cmbuild.firmware.compile_commands import FILE, expected, kernels, merged
from cmcompiler.isa import Isa

KERNELS = 30  # one of so many is compiled


def commands(file: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(file.read_text())
    assert len({each["file"] for each in listed}) == len(listed)
    return listed


def compile_some(listed: list[dict[str, Any]]) -> list[str]:
    """Compiles an image's own files, and some kernels; their names."""
    own = [
        each for each in listed if "/kernels/" not in each["file"] and "/isa/" not in each["file"]
    ]
    others = [each for each in listed if each not in own]
    assert len(own) >= 6 and len(others) > 80
    for each in (*own, *islice(others, 0, None, KERNELS)):
        done = subprocess.run(
            each["arguments"], cwd=each["directory"], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), each["file"]
    return [Path(each["file"]).name for each in own]


def test_commands_of_a_build_and_of_a_new_project_compile(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Even those that `init` writes before there is a build."""
    cmbuild = Commands.in_folder_of(tmp_path, tmp_path_factory)
    (cmbuild.folder / "net.pte").write_bytes(NETWORK.read_bytes())
    memory = ("--flash", "0x08000000:512K", "--ram", "0x20000000:128K")
    assert cmbuild("new", "board", "mine", "--cpu", "cortex-m4", *memory).exit_code == 0
    before = {each["file"] for each in commands(cmbuild.folder / FILE)}
    words = ("--model", "net", "--source", "net.pte", "--board", "corstone300")
    assert cmbuild("init", *words).exit_code == 0
    assert cmbuild("build").exit_code == 0
    after = commands(cmbuild.folder / FILE)
    assert before <= {each["file"] for each in after}
    ours = [each for each in after if "/mine/" not in each["file"]]
    names = compile_some(ours)
    assert {"model.c", "model.S", "static_executor.c", "board.c", "startup.S"} <= set(names)
    built = commands(cmbuild.folder / "build" / "net" / "corstone300" / "runner" / FILE)
    assert set(compile_some(built)) == set(names)


@pytest.mark.parametrize("toolchain", ["clang", "zig"])
def test_commands_of_other_compilers_compile(tmp_path: Path, toolchain: str) -> None:
    board = find_board("mps2-an505", board_folders())
    text = expected(board, toolchain, tmp_path / "plan", tmp_path)
    assert text is not None
    for each in json.loads(text):
        if Path(each["file"]).parent.name == "cortexm" and each["file"].endswith(".c"):
            done = subprocess.run(
                each["arguments"],
                cwd=each["directory"],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr


def test_a_microkernel_is_that_of_the_highest_instruction_set() -> None:
    chosen = {file.name: file.parent.name for file in kernels(Isa.MVE)}
    assert chosen["gemm_s8.c"] == "mve" and "scalar" in chosen.values()
    assert set(chosen) >= {file.name for file in kernels(Isa.SCALAR)}


def test_a_file_of_others_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / FILE
    one = json.dumps([{"file": "a.c", "directory": "/", "arguments": ["cc"]}])
    assert merged(file, one) == one
    for text in ("{}", "[1]", "no JSON", '[{"directory": "/"}]'):
        file.write_text(text)
        assert (merged(file, one) is None) == (text != "{}")
    file.write_text(json.dumps([{"file": "b.c"}, {"file": "a.c", "old": 1}]))
    result = merged(file, one)
    assert result is not None
    assert [each["file"] for each in json.loads(result)] == ["b.c", "a.c"]
    assert "old" not in result
