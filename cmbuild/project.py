"""cmbuild.toml: the settings of a project folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from cmbuild.strictfile import Inconsistent, Table, read
from cmcompiler.extension import Extension

FILE = "cmbuild.toml"


class OpsFile(Table):
    """[ops]: folders with the project's own ops; see cmcompiler.extension.Extension."""

    host: str | None = None
    kernels: str | None = None
    torch: str | None = None


class ExecutorchFile(Table):
    """[executorch]: the checkout for --executor executorch, and CMSIS-NN's sources."""

    root: str | None = None
    cmsis_nn: str | None = None


class DefaultsFile(Table):
    """[project]: default model and board of commands."""

    model: str | None = None
    board: str | None = None


class ProjectFile(Table):
    """The whole file."""

    project: DefaultsFile = DefaultsFile()
    ops: OpsFile = OpsFile()
    executorch: ExecutorchFile = ExecutorchFile()


@dataclass(frozen=True, slots=True)
class Project:
    """A project folder.

    Attributes:
        ops: its own ops, perhaps none.
        executorch: checkout for --executor executorch, if it names one.
        cmsis_nn: folder of CMSIS-NN's sources, if it names one.
        model, board: defaults of commands.
    """

    folder: Path
    ops: Extension = field(default_factory=Extension)
    executorch: Path | None = None
    cmsis_nn: Path | None = None
    model: str | None = None
    board: str | None = None


def find_project(folder: Path | None = None) -> Project:
    """The project of a folder, with or without a cmbuild.toml.

    Args:
        folder: by default the current one.

    Raises:
        BrokenFile: naming file, line and key.
    """
    # Paths stay as the user would type them: they appear in messages.
    folder = Path() if folder is None else folder
    file = folder / FILE
    if not file.exists():
        return Project(folder)
    return read(file, ProjectFile, partial(_project, folder))


def _project(folder: Path, file: ProjectFile) -> Project:
    places: dict[str, Path] = {}
    for key, name in file.ops.model_dump(exclude_none=True).items():
        places[key] = folder / name
        if not places[key].is_dir():
            raise Inconsistent(("ops", key), f"no such folder: {places[key]}")
    named = file.executorch
    root = None if named.root is None else folder / named.root
    cmsis_nn = None if named.cmsis_nn is None else folder / named.cmsis_nn
    meant = file.project
    return Project(folder, Extension(**places), root, cmsis_nn, meant.model, meant.board)
