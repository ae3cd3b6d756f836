"""New projects: a folder with cmbuild.toml, a model, a test, a workflow and tasks of an editor."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cmbuild.boards.board import Board
from cmbuild.boards.memory import Memory, text_of
from cmbuild.boards.registry import board_folders
from cmbuild.catalog import find_board
from cmbuild.errors import CmbuildError, UnknownName, UsageError
from cmbuild.files import check_input, check_output_folder, fill, write
from cmbuild.firmware.compile_commands import FILE as COMMANDS
from cmbuild.paths import PROJECT, PYPROJECT, in_pyproject
from cmbuild.projects.editor import SKELETON, editor_files
from cmbuild.projects.project import is_file, is_name
from cmbuild.strictfile import read_text
from cmbuild.toolchain.toolchains import HOST
from cmcompiler import zoo

IGNORE = f"build/\n{COMMANDS}\n"
_MODEL_BUDGET = {
    "flash": '"32K"',
    "instructions": '"250k"',
    "float": '"1%"',
    "accuracy": '"90%"',
}
"""Budget of the model that comes with a new project, on any board."""

_MODEL_RAM = 8 << 10
"""Its budget of arena and variables; the stack is the board's."""


class AlreadyAProject(UsageError):
    template = "{file} already exists"
    hint = "add your model to it: docs/projects.md shows how"


class AlreadyThere(UsageError):
    template = "{file} already exists"
    hint = "--source {file} makes it the project's model"


class BadModelName(UsageError):
    template = "{name!r} cannot be the name of a model"
    hint = "use letters, digits, _ and -"


@dataclass(frozen=True, slots=True)
class NewProject:
    """The files of a new project.

    Attributes:
        written: files, in the order to read them.
        kept: files that were there already, and stay as they are.
    """

    folder: Path
    model: str
    board: str
    written: tuple[Path, ...]
    kept: tuple[Path, ...]


def make_project(
    folder: Path, model: str, board: str, source: str | None, pyproject: bool
) -> NewProject:
    """Writes a project; all of its files or none.

    Args:
        source: an existing model; a small one is written if None.
        pyproject: add the tables to pyproject.toml.

    Raises:
        AlreadyAProject, AlreadyThere, BadModelName, NotWritable.
        UnknownName: no such board, or no such model of the zoo.
        UsageError: no such source.
        BrokenFile: the board is not valid.
    """
    if not is_name(model):
        raise BadModelName(name=model)
    check_output_folder(folder)
    file = folder / (PYPROJECT if pyproject else PROJECT)
    for other in (folder / PROJECT, *([folder / PYPROJECT] if in_pyproject(folder) else [])):
        if other.exists():
            raise AlreadyAProject(file=other)
    texts = dict(_texts(folder, file, model, board, source))
    own = folder / "models" / f"{model}.py"
    if source is None and own.exists():
        raise AlreadyThere(file=own)
    # Commands of other boards stay in the file that has them.
    changed = (file, folder / COMMANDS)
    fresh = {path: text for path, text in texts.items() if path in changed or not path.exists()}
    _write_all(fresh)
    kept = tuple(path for path in texts if path not in fresh)
    return NewProject(folder, model, board, tuple(fresh), kept)


def _texts(
    folder: Path, file: Path, model: str, board: str, source: str | None
) -> Mapping[Path, str]:
    """The content of each file."""
    chosen = find_board(board, board_folders(folder.absolute()))
    budget = _model_budget(chosen) if source is None else _memory(chosen)
    if chosen.toolchain == HOST:  # which counts nothing
        budget = {key: limit for key, limit in budget.items() if key != "instructions"}
    is_pyproject = file.name == PYPROJECT
    values = {
        "model": model,
        "board": board,
        "source": f"models/{model}.py" if source is None else _relative(source, folder),
        "budget": budget,
        "prefix": "tool.cmbuild." if is_pyproject else "",
        "file": file.name,
        "flash": chosen.capacity(Memory.FLASH) or 1 << 20,
    }
    tables = fill(SKELETON / "cmbuild.toml.j2", values)
    if is_pyproject and file.exists():
        check_input(file)
        tables = f"{read_text(file).rstrip()}\n\n{tables}"
    texts = {file: tables}
    if source is None:
        texts[folder / "models" / f"{model}.py"] = fill(SKELETON / "model.py.j2", values)
    stem = model.replace("-", "_")
    texts[folder / "tests" / f"test_{stem}.py"] = fill(SKELETON / "test_model.py.j2", values)
    workflow = folder / ".github" / "workflows" / "cmbuild.yml"
    texts[workflow] = fill(SKELETON / "workflow.yml.j2", values)
    texts |= editor_files(folder, model, chosen)
    texts[folder / ".gitignore"] = IGNORE
    return texts


def _model_budget(board: Board) -> dict[str, str]:
    """The limits of the model that comes with a project, with the board's own stack."""
    return _MODEL_BUDGET | {"ram": f'"{text_of(board.assumed_stack + _MODEL_RAM)}"'}


def _memory(board: Board) -> dict[str, str]:
    """All that a board has, and any share of float."""
    sizes = {"flash": board.capacity(Memory.FLASH), "ram": board.capacity(Memory.RAM)}
    known = {key: str(size) for key, size in sizes.items() if size is not None}
    return known | {"float": '"100%"'}


def _relative(source: str, folder: Path) -> str:
    """A model as the project names it."""
    path, colon, function = source.rpartition(":") if ".py:" in source else (source, "", "")
    if not is_file(source):
        if source not in zoo.names():
            raise UnknownName(kind="model", name=source, known=zoo.names())
        return source
    check_input(Path(path))
    return Path(os.path.relpath(path, folder)).as_posix() + colon + function


def _write_all(texts: Mapping[Path, str]) -> None:
    """Writes files; what was there before is there again if one of them cannot be written."""
    before = {path: path.read_text(encoding="utf-8") for path in texts if path.exists()}
    written: list[Path] = []
    try:
        for path, text in texts.items():
            write(path, text)
            written.append(path)
    except CmbuildError:
        for path in written:
            if path in before:
                write(path, before[path])
            else:
                path.unlink(missing_ok=True)
        raise
