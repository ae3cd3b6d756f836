"""Models of the project, by name: what a request that names one stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from cmbuild.cache.folders import below, slug
from cmbuild.errors import UnknownName, UsageError
from cmbuild.pipeline.needs import Needs
from cmbuild.pipeline.request import (
    IO,
    Boundary,
    BuildRequest,
    ModelChoice,
    PackageRequest,
    Planning,
    RunRequest,
)
from cmbuild.projects.project import Project, ProjectModel
from cmcompiler import zoo
from cmcompiler.importer.suffixes import MODELS, TFLITE
from cmcompiler.target import Target

_FILES = (*MODELS, ".pt", ".pth")

R = TypeVar("R", BuildRequest, PackageRequest)


class Names:
    """Resolves names; the project's come before the zoo's."""

    def __init__(self, project: Project, note: Callable[[str], None]) -> None:
        """
        Args:
            note: says, once, that a model of the project hides one of the zoo.
        """
        self._project = project
        self._note = note
        self._hidden: set[str] = set()

    def chosen(self, source: ModelChoice) -> ModelChoice:
        """Resolves a model to its file and its options, where the project has it.

        Raises:
            UnknownName: neither the project nor the zoo has it, and it is not a file.
            BrokenFile: a file that the project names for it does not exist.
            UsageError: options that do not go with it.
        """
        name, project = source.model, self._project
        if source.label is not None:
            return source
        if name not in project.models:
            is_file = name.partition(":")[0].endswith(_FILES)
            if project.models and not is_file and name not in zoo.names():
                known = sorted({*project.models, *zoo.names()})
                raise UnknownName(kind="model", name=name, known=known)
            return source
        model = project.checked(name)
        if name in zoo.names() and name not in {model.source, *self._hidden}:
            self._hidden.add(name)
            self._note(f"{name} is the model in {project.file}, not cmbuild's")
        try:
            return replace(
                source,
                model=model.source,
                label=name,
                data=model.data,
                seed=source.seed or model.seed,
                weights=source.weights or model.weights,
                calibration=source.calibration or model.calibration,
                activations=source.activations or model.activations,
                precision=model.precision,
                needs=_needed(source, model),
            )
        except UsageError as error:
            raise UsageError(message=f"model {name}: {error.message}", hint=error.hint) from error

    def bounded(self, source: ModelChoice, boundary: Boundary) -> Boundary:
        """How inputs and outputs pass: as requested, else as the project says, else as exported."""
        model = self._project.models.get(source.name)
        own_io, own_feed = (None, None) if model is None else (model.io, model.feed)
        return replace(boundary, io=boundary.io or own_io or IO[0], feed=boundary.feed or own_feed)

    def planned(self, source: ModelChoice, planning: Planning) -> Planning:
        """How the plan is made: as requested, else as the project says."""
        model = self._project.models.get(source.name)
        own = None if model is None else model.ram_budget
        return replace(planning, ram_budget=planning.ram_budget or own)

    def resolved(self, request: R) -> R:
        """A request with its model found; raises like `chosen`."""
        source = self.chosen(request.source)
        return replace(
            request,
            source=source,
            boundary=self.bounded(source, request.boundary),
            planning=self.planned(source, request.planning),
        )

    def resolved_run(self, request: RunRequest) -> RunRequest:
        """As `resolved`."""
        return replace(request, build=self.resolved(request.build))


def _needed(source: ModelChoice, model: ProjectModel) -> Needs:
    """The needs of a request, else those of the project unless the request names types."""
    if source.needs.options:
        return source.needs
    if source.activations or source.weight_type or source.portable:
        return Needs()
    return model.needs


def check_state(source: ModelChoice) -> None:
    """Raises UsageError if LSTMs are to keep their state, but the model is not a `.tflite`."""
    if source.keep_state and not source.model.endswith(TFLITE):
        raise UsageError(
            message=f"--keep-state is for LSTMs of .tflite programs; {source.name} is not one",
            hint="a PyTorch model keeps its state in buffers: docs/models.md",
        )


def package_folder(request: PackageRequest) -> Path:
    """The folder of everything made for a model and a core: <model>/<core>.<isa>, or
    <model>/<board>.<form> if a board is named.

    Raises:
        CompilerError: an unknown core or instruction set.
    """
    if request.board is not None:
        place = f"{slug(request.board)}.{request.form}"
        return below(request.build_dir.absolute(), slug(request.source.name), place)
    target = Target.parse(request.target, request.isa)
    place = f"{target.cpu}.{target.isa.label}"
    return below(request.build_dir.absolute(), slug(request.source.name), place)
