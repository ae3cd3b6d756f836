"""Ops from a user's folder: all of them are registered, or none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmcompiler.decode.registry import operators
from cmcompiler.errors import InvalidRequest, Unsupported
from cmcompiler.extension import Extension, load_ops

OP = """\
from cmcompiler.decode.registry import program_op

@program_op("{name}(Tensor x, *, Tensor(a!) out)")
def read(call):
    call.fail()
"""


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """Restores the registry after each test."""
    registered = dict(operators())
    yield
    operators().clear()
    operators().update(registered)


def folder(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def test_every_module_is_imported_once_and_can_import_its_neighbours(tmp_path: Path) -> None:
    place = folder(
        tmp_path,
        _names="SECOND = 'my::second'\n",
        first=OP.format(name="my::first"),
        second="from ._names import SECOND\n" + OP.replace('"{name}', 'SECOND + "'),
    )
    load_ops(place)
    load_ops(place)
    assert {"my::first", "my::second"} <= operators().keys()


def test_all_ops_of_a_folder_are_known_or_none(tmp_path: Path) -> None:
    place = folder(tmp_path, first=OP.format(name="my::first"), second="raise KeyError('gone')\n")
    for _ in range(2):
        with pytest.raises(InvalidRequest, match=r"second\.py:1: KeyError: 'gone'$"):
            load_ops(place)
        assert "my::first" not in operators()
    (place / "second.py").write_text("")
    load_ops(place)
    assert "my::first" in operators()


def test_a_name_that_is_taken_is_refused_where_it_is_taken_again(tmp_path: Path) -> None:
    place = folder(tmp_path, first=OP.format(name="aten::clone.out"))
    with pytest.raises(InvalidRequest, match=r"first\.py:3: ValueError: aten::clone.out is reg"):
        load_ops(place)


def test_modules_are_no_neighbours_of_other_code(tmp_path: Path) -> None:
    place = folder(tmp_path, json=OP.format(name="my::json"))
    path, modules = list(sys.path), sys.modules.get("json")
    load_ops(place)
    assert sys.path == path
    assert sys.modules.get("json") is modules


def test_only_the_users_own_lines_are_blamed(tmp_path: Path) -> None:
    extension = Extension(host=folder(tmp_path, first=OP.format(name="my::first")))
    with (
        pytest.raises(InvalidRequest, match=r"first\.py:5: AttributeError: "),
        extension.registered(),
    ):
        operators()["my::first"].read(None)
    with pytest.raises(ZeroDivisionError), extension.registered():
        raise ZeroDivisionError
    with pytest.raises(Unsupported, match="as it is"), extension.registered():
        raise Unsupported("as it is")


def test_without_ops_nothing_is_imported() -> None:
    with pytest.raises(KeyError), Extension().registered():
        raise KeyError
