"""The gallery of bad input: one clear line each, a hint, the documented exit code."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness.commands import NETWORK, PROGRAMS, Commands
from harness.tflite_file import linear_file, unknown_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[3]
GALLERY = tomllib.loads((ROOT / "tests" / "data" / "bad_commands.toml").read_text())
SHAPE = (1, 3, 6, 5)  # of network.pte's input


TFLITE_FILES = {
    "garbage": b"PK\x03\x04" * 100,
    "truncated": linear_file(np.int8, np.int8)[:-80],
    "int8": linear_file(np.int8, np.int8),
    "float": linear_file(np.float32, np.float32),
    "hybrid": linear_file(np.float32, np.int8),
    "uint8": linear_file(np.uint8, np.uint8),
    "int16": linear_file(np.int16, np.int16),
    "missing": unknown_file(),
}

NO_BOARD = (
    "error: no board is named\n"
    "  try: name one of `cmbuild boards`, or `board` in [project] of cmbuild.toml\n"
)


@pytest.fixture
def prepared(cmbuild: Commands) -> Commands:
    """The files that the gallery speaks of."""
    folder, program = cmbuild.folder, NETWORK.read_bytes()
    (folder / "folder.pte").mkdir()
    (folder / "empty.pte").touch()
    (folder / "garbage.pte").write_bytes(b"PK\x03\x04" * 100)
    (folder / "truncated.pte").write_bytes(program[: len(program) // 2])
    for name, data in TFLITE_FILES.items():
        (folder / f"{name}.tflite").write_bytes(data)
    for name in ("garbage.npy", "garbage.pt", "dog.jpg", "file"):
        (folder / name).write_bytes(b"\x80\x04\x95" * 20)
    np.save(folder / "good.npy", np.zeros(SHAPE, np.float32))
    np.save(folder / "shape.npy", np.zeros((1, 5, 6, 3), np.float32))
    np.save(folder / "dtype.npy", np.zeros(SHAPE, np.float64))
    corstone = (ROOT / "boards" / "corstone300" / "board.toml").read_text()
    for name, old, new in (
        ("broken", 'stack = "16K"', 'stak = "16K"'),
        ("small", 'size = "4M"', 'size = "256"'),
    ):
        board = folder / "boards" / name
        board.mkdir(parents=True)
        (board / "board.toml").write_text(corstone.replace(old, new))
    return cmbuild


@pytest.mark.parametrize("name", GALLERY)
def test_bad_input_is_one_clear_line(prepared: Commands, name: str) -> None:
    case: dict[str, Any] = GALLERY[name]
    places = {"programs": str(PROGRAMS), "folder": str(prepared.folder)}
    result = prepared(*(word.format(**places) for word in case["words"]))
    lines = result.stderr.splitlines()
    assert result.exit_code == case["exit_code"], result.stderr
    assert lines[0].startswith("error: ")
    assert case["error"].format(**places) in lines[0]
    if "hint" in case:
        assert lines[1:] == [f"  try: {case['hint']}"]
    else:
        assert len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("  try: "))
    assert "Traceback" not in result.stdout


def test_names_that_are_not_text_are_one_clear_line(cmbuild: Commands) -> None:
    name = os.fsdecode(b"n\xff\xfe")
    shown, hint = r"n\udcff\udcfe", "  try: rename it: builds, records and reports name it in UTF-8"
    folder = cmbuild.folder / name
    folder.mkdir()
    shutil.copy(NETWORK, folder / "network.pte")
    run = ("run", NETWORK, "--board", "native")
    for commands, words, text in (
        (cmbuild, ("run", f"{name}/network.pte", "--board", "native"), f"{shown}/network.pte"),
        (cmbuild, (*run, "--output-dir", name), shown),
        (cmbuild, (*run, "--board", name), shown),
        (replace(cmbuild, folder=folder), ("boards",), f"{cmbuild.folder}/{shown}"),
        (replace(cmbuild, cache=folder), run, f"{cmbuild.folder}/{shown}"),
    ):
        result = commands(*words)
        assert result.exit_code == 2
        assert result.stderr.splitlines() == [f"error: '{text}' is not UTF-8", hint]
    # A name that nobody wrote is not a reason to stop.
    (cmbuild.folder / "boards" / name).mkdir(parents=True)
    assert cmbuild("boards").exit_code == 0


def test_bad_input_under_json_is_one_object(prepared: Commands) -> None:
    for words, error, exit_code in (
        (["run", "mv3_smal", "--board", "native"], "unknown model mv3_smal", 2),
        (["run", "mv2", "--bord", "native"], "no such option: --bord", 2),
        (["run", PROGRAMS / "delegate.pte", "--board", "native"], "delegates are not", 1),
    ):
        result = prepared(*words, "--json")
        assert result.exit_code == exit_code
        assert sorted(result.document) == ["error", "exit_code", "hint"]
        assert result.document["error"].startswith(error)
        assert result.document["exit_code"] == exit_code


@pytest.mark.parametrize(
    ("words", "exit_code", "error"),
    [
        (("modle=mv2",), 2, "error: unknown variable 'modle'\n  try: did you mean model?\n"),
        (
            ("model=mv2",),
            2,
            NO_BOARD,
        ),
        ((), 2, NO_BOARD),
        (
            ("model=a/network.pte,b/network.pte", "board=native"),
            2,
            "error: no such file: a/network.pte\n",
        ),
        (
            (f"model={NETWORK},{PROGRAMS}/../programs/network.pte", "board=native"),
            2,
            "error: two models have the name network-native\n"
            "  try: run them separately, or rename one of the files\n",
        ),
        (("model=mv2", "board=native", "seed=x"), 2, "error: seed=x is not valid\n"),
        (
            ("model=mv2", "board=native", "seed=-1"),
            2,
            "error: seed -1 is not from 0 to 4294967295\n",
        ),
        (
            ("run", "simulat"),
            2,
            "error: unknown task 'simulat'\n  try: did you mean simulate?\n",
        ),
        (("list", "simulat"), 2, "error: 'simulat' is not a task\n"),
        (
            ("list", "--nonsense"),
            2,
            "error: option --nonsense not recognized\n  try: `doit help list`\n",
        ),
        (
            ("package",),
            2,
            "error: package is not a task of a model and a board\n  try: use `cmbuild package`\n",
        ),
        (
            ("app", f"model={NETWORK}", "board=native", "build_dir=build/tests"),
            2,
            "error: app is not a task of a model and a board\n  try: use `cmbuild zephyr build`\n",
        ),
        (("clean", "simulat"), 2, "error: 'simulat' is not a task\n"),
        (("info", "simulat"), 2, "error: unknown task 'simulat'\n  try: did you mean simulate?\n"),
        (
            (f"model={PROGRAMS / 'delegate.pte'}", "board=native", "build_dir=build/tests"),
            1,
            "error: delegates are not supported: method forward has one for "
            "BackendWithCompilerDemo\n"
            "  try: lower with the Cortex-M passes only, without to_backend\n",
        ),
    ],
)
def test_exit_codes_hold_under_plain_doit(
    cmbuild: Commands, words: tuple[str, ...], exit_code: int, error: str
) -> None:
    result = Commands(ROOT, cmbuild.cache)(*words, program=("doit",))
    assert (result.exit_code, result.stderr) == (exit_code, error)
