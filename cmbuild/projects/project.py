"""A project folder: models by name, their budgets, own ops, and the defaults of commands."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from cmbuild.errors import UsageError
from cmbuild.paths import PROJECT, PYPROJECT, in_pyproject, project_root
from cmbuild.pipeline.needs import Needs
from cmbuild.projects.file import BudgetFile, ModelFile, ProjectFile
from cmbuild.strictfile import BrokenFile, Inconsistent, broken, read
from cmcompiler import zoo
from cmcompiler.extension import Extension
from cmcompiler.importer.suffixes import MODELS, PROGRAMS
from cmcompiler.suggest import did_you_mean

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")

PLACES = ("weights", "calibration", "data")
"""Keys of a model that name files."""


class TwoFiles(UsageError):
    template = "{folder} has both a {first} and [tool.cmbuild] in its {second}"
    hint = "keep one of them"


class NoProject(UsageError):
    template = "no project found: neither a {first} nor [tool.cmbuild] in a {second}, here or above"
    hint = "`cmbuild init` makes one"


@dataclass(frozen=True, slots=True)
class ProjectModel:
    """A model of a project.

    Attributes:
        source: of the zoo, or a path that holds from anywhere.
        weights, calibration, data: likewise.
        activations, precision: of its export, unless the user says otherwise.
        needs: for which precision is chosen, unless the user names others, or types.
        ram_budget: of its plan, unless the user says otherwise.
        io, feed: of its boundary, likewise.
        budgets: by board.
    """

    name: str
    source: str
    weights: Path | None = None
    calibration: Path | None = None
    data: Path | None = None
    activations: str | None = None
    precision: tuple[tuple[str, str], ...] = ()
    needs: Needs = field(default_factory=Needs)
    ram_budget: str | None = None
    seed: int = 0
    io: str | None = None
    feed: str | None = None
    budgets: Mapping[str, BudgetFile] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Project:
    """A project folder.

    Attributes:
        file: None without one.
        ops: its own ops, perhaps none.
        executorch: checkout for --executor executorch, if it names one.
        cmsis_nn: folder of CMSIS-NN's sources, if it names one.
        model, board: defaults of commands.
        boards: that every model is checked on.
        models: by name.
    """

    folder: Path
    file: Path | None = None
    ops: Extension = field(default_factory=Extension)
    executorch: Path | None = None
    cmsis_nn: Path | None = None
    model: str | None = None
    board: str | None = None
    boards: tuple[str, ...] = ()
    models: Mapping[str, ProjectModel] = field(default_factory=dict)

    def checked(self, name: str) -> ProjectModel:
        """A model of its own, all of whose files exist.

        Raises:
            BrokenFile: one does not, or the zoo has no such source.
        """
        model, key = self.models[name], ("models", name)
        path, _ = _split(model.source)
        for part, place in {
            "source": path,
            **{each: getattr(model, each) for each in PLACES},
        }.items():
            if place is not None and Path(place).is_absolute() and not Path(place).exists():
                raise self.broken((*key, part), f"no such file: {os.path.relpath(place)}")
        for part in ("weights", "calibration"):
            if path.endswith(PROGRAMS) and getattr(model, part) is not None:
                problem = f"{os.path.relpath(path)} is a program already, and takes none"
                raise self.broken((*key, part), problem)
        if not Path(path).is_absolute() and path not in zoo.names():
            hint = did_you_mean(path, zoo.names())
            raise self.broken((*key, "source"), f"unknown model {path!r}", hint)
        return model

    def broken(self, key: tuple[str, ...], problem: str, hint: str | None = None) -> BrokenFile:
        """The error for a key of its file, found wrong only now."""
        assert self.file is not None
        return broken(self.file, (*_inside(self.file), *key), problem, hint)


def find_project(folder: Path | None = None) -> Project:
    """The project of a folder, with or without a file.

    Args:
        folder: by default the nearest one with a file, from the current one upwards.

    Raises:
        BrokenFile: naming file, line and key.
        TwoFiles: there is a cmbuild.toml, and a pyproject.toml with tables of cmbuild.
    """
    if folder is None:
        root = project_root()
        # Paths stay as the user would type them: they appear in messages.
        folder = Path() if root is None else Path(os.path.relpath(root))
    file = folder / PROJECT
    if in_pyproject(folder):
        if file.exists():
            raise TwoFiles(folder=folder.absolute(), first=PROJECT, second=PYPROJECT)
        file = folder / PYPROJECT
    elif not file.exists():
        return Project(folder)
    return read(file, ProjectFile, partial(_project, file), _inside(file))


def needed_project() -> Project:
    """As find_project; raises NoProject where there is none."""
    project = find_project()
    if project.file is None:
        raise NoProject(first=PROJECT, second=PYPROJECT)
    return project


def _inside(file: Path) -> tuple[str, ...]:
    return ("tool", "cmbuild") if file.name == PYPROJECT else ()


def _project(path: Path, file: ProjectFile) -> Project:
    folder = path.parent
    places: dict[str, Path] = {}
    for key, name in file.ops.model_dump(exclude_none=True).items():
        places[key] = folder / name
        if not places[key].is_dir():
            raise Inconsistent(("ops", key), f"no such folder: {places[key]}")
    named = file.executorch
    meant = file.project
    return Project(
        folder,
        path,
        ops=Extension(**places),
        executorch=None if named.root is None else folder / named.root,
        cmsis_nn=None if named.cmsis_nn is None else folder / named.cmsis_nn,
        model=_default(folder, file),
        board=meant.board,
        boards=tuple(meant.boards),
        models={name: _model(folder, name, each) for name, each in file.models.items()},
    )


def _model(folder: Path, name: str, file: ModelFile) -> ProjectModel:
    if not is_name(name):
        hint = "use letters, digits, _ and -"
        raise Inconsistent(("models", name), f"{name!r} cannot be the name of a model", hint)
    places: dict[str, Path | None] = {}
    for key in PLACES:
        place = getattr(file, key)
        places[key] = None if place is None else (folder / place).absolute()
    path, function = _split(file.source)
    return ProjectModel(
        name,
        f"{(folder / path).absolute()}{function}" if is_file(file.source) else file.source,
        seed=file.seed,
        io=file.io,
        feed=file.feed,
        activations=file.activations,
        precision=tuple(file.precision.items()),
        needs=_needs(name, file),
        ram_budget=None if file.needs is None else _text(file.needs.ram_budget),
        budgets=file.budget,
        **places,
    )


def _needs(name: str, file: ModelFile) -> Needs:
    given = file.needs
    if given is None:
        return Needs()
    drop = given.accuracy_drop
    needs = Needs(
        snr=given.snr,
        accuracy_drop=None if drop is None else f"{100 * drop:g}%",
        flash_budget=_text(given.flash_budget),
    )
    for key in ("activations", "precision"):
        if needs.options and getattr(file, key):
            problem = f"needs choose the precision of {name}, and go without {key}"
            raise Inconsistent(("models", name, key), problem)
    return needs


def _text(count: int | None) -> str | None:
    return None if count is None else str(count)


def _default(folder: Path, file: ProjectFile) -> str | None:
    """The default model: a name, or a path as one would type it here."""
    model = file.project.model
    if model is None or model in file.models or not is_file(model):
        return model
    return str(folder / model)


def is_name(text: str) -> bool:
    """Whether a model may have this name."""
    return _NAME.fullmatch(text) is not None


def is_file(source: str) -> bool:
    """Whether a source is a file, not a model of the zoo."""
    return _split(source)[0].endswith(MODELS)


def _split(source: str) -> tuple[str, str]:
    """`net.py` and `:make`"""
    path, colon, function = source.rpartition(":") if ".py:" in source else (source, "", "")
    return path, colon + function
