"""Users' TOML: whatever a file holds is a document, or one line."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cmbuild.boards.descriptor import read_board
from cmbuild.errors import UsageError
from cmbuild.projects.project import find_project
from cmbuild.remote.pins import pinned
from cmbuild.strictfile import BrokenFile, read_document

DEPTH = 20_000
HOSTILE: dict[str, tuple[bytes, str]] = {
    "arrays": (b"a = " + b"[" * DEPTH + b"]" * DEPTH, "nested too deeply"),
    "tables": (b"a = " + b"{b=" * DEPTH + b"1" + b"}" * DEPTH, "nested too deeply"),
    "dotted": (b".".join([b"a"] * 500) + b" = 1", "nested too deeply"),
    "header": (b"[" + b".".join([b"a"] * 500) + b"]", "nested too deeply"),
    "dotted, of vast memory": (
        b"\n" + b"a . 'b' . " * DEPTH + b"c = 1",
        ":2: is nested too deeply",
    ),
    "digits": (b"[project]\nseed = " + b"9" * 5000, ":2: a number has too many digits"),
    "text of digits": (b'a = "' + b"9" * 5000 + b'"', ":1: a number has too many digits"),
    "hexadecimal": (b"a.b = 0x" + b"f" * 400, "a.b: the number has more than 64 bits"),
    "in an array": (b"a = [1, 9223372036854775808]", "a.1: the number has more than 64 bits"),
    "mark": (b"\xef\xbb\xbfa = 1", ":1: starts with a byte order mark"),
    "UTF-16": ("a = 1".encode("utf-16"), "unreadable"),
    "zeros": (bytes(1000), ":1: "),
    "escape": (b"a = \x1b[31m", ":1: "),
    "unclosed": (b'a = """' + b"x\n" * 1000, "Unterminated string"),
}


def project(folder: Path) -> object:
    return find_project(folder)


READERS: dict[str, Callable[[Path], object]] = {
    "cmbuild.toml": project,
    "board.toml": partial(read_board, tables={}),
    "uv.lock": partial(pinned, packages=["torch"]),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("name", READERS)
def test_a_hostile_file_is_one_line(name: str, case: str, tmp_path: Path) -> None:
    content, problem = HOSTILE[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as raised:
        READERS[name](tmp_path)
    assert f"{name}" in raised.value.message and problem in raised.value.message
    assert len(raised.value.message) < 300


def test_one_in_pyproject_too(tmp_path: Path) -> None:
    for content, problem in HOSTILE.values():
        (tmp_path / "pyproject.toml").write_bytes(b"[tool.cmbuild.project]\n" + content)
        with pytest.raises(UsageError, match=r"pyproject\.toml"):
            find_project(tmp_path)
        assert problem


def test_what_is_not_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    for name in ("pipe.toml", "folder.toml", "none.toml"):
        with pytest.raises(BrokenFile):
            read_document(tmp_path / name)
    with (tmp_path / "large.toml").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(BrokenFile, match="larger than 16 MiB"):
        read_document(tmp_path / "large.toml")


@pytest.mark.parametrize(
    "table",
    [
        'source = {"a" = [[[[[[1]]]]]]}',
        f'source = "mlp"\nbudget.x.flash = "{"9" * 400}K"',
        f'source = "mlp"\nbudget.x.cycles = "{"9" * 400}G"',
        f'source = "mlp"\nbudget.x.snr = "{"9" * 400} dB"',
        'source = "mlp"\nbudget.x.milliseconds = inf',
        'source = "mlp"\nbudget.x.float = nan',
        f'source = ["{"x" * 10_000}"]',
    ],
)
def test_values_that_no_key_takes_are_short_lines(table: str, tmp_path: Path) -> None:
    (tmp_path / "cmbuild.toml").write_text(f"[models.a]\n{table}\n")
    with pytest.raises(BrokenFile, match=r"cmbuild\.toml:\d+: models\.a\.") as raised:
        find_project(tmp_path)
    assert len(raised.value.message) < 700


def test_numbers_of_64_bits_are_fine(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("a = 9223372036854775807\nb = -9223372036854775808\nc = [[1], [2]]\n")
    assert read_document(file)[1] == {"a": 2**63 - 1, "b": -(2**63), "c": [[1], [2]]}
