"""cmbuild compare"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped
from cmbuild.pipeline.request import RunRequest
from cmbuild.projects.metrics import METRICS, Metric
from cmbuild.projects.thresholds import option

if TYPE_CHECKING:
    from cmbuild.cli.session import VerbSession
    from cmbuild.pipeline.stages.simulate import SimulateStage
    from cmbuild.projects.check import CheckedUnit
    from cmbuild.projects.comparison import Side
    from cmbuild.projects.project import Project

EPILOG = """\b
Examples:
  cmbuild compare HEAD~1 --model kws
  cmbuild compare origin/main --max-instructions +1% --max-flash +512
  cmbuild compare kws.tflite net.py:make --board mps2-an386 --io int8
  cmbuild compare build/kws/rp2350 other/build/kws/rp2350 --min-accuracy -0.5%

BEFORE and AFTER are each a folder of one or more builds, a file that `run --json` or `check
--json` printed, or a revision of git, which this cmbuild builds beside the others. AFTER is by
default the project as it is. Two models (.tflite, .pte, .pt2, path.py[:callable], a name of the
project or the zoo) are run on each --board, side by side; modules take --weights, and a program's
SNR is then to the other one's float model.

Thresholds are changes: +1% of the former value, +2K bytes; of shares, points.

\b
Exit status: 0 within all thresholds; 1 a change is beyond one, or something did
not run; 2 usage; 3 something is missing on this machine; 130 Ctrl-C.
"""

_OTHER = "other"
"""Folder below the build folder for the second of two models of one name."""


def _words(metric: Metric) -> str:
    return metric.name.replace("_", " ")


thresholds = options.together(
    *(
        click.option(
            option(metric),
            metric.name,
            metavar="CHANGE",
            help=f"{'Deepest fall' if metric.is_least else 'Largest growth'} of {_words(metric)}.",
        )
        for metric in METRICS
    )
)


@click.command(
    "compare", cls=Grouped, epilog=EPILOG, short_help="Compare two builds, results or revisions."
)
@click.argument("before")
@click.argument("after", required=False)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="Compare only this model.",
)
@click.option("--board", "-b", "boards", multiple=True, metavar="NAME", help="Only on this board.")
@options.of(RunRequest, only=("io", "weights"), io={"help": "Inputs and outputs of two models."})
@thresholds
@click.option(
    "--html", type=options.FILE, metavar="FILE", help="Write a page with bars of what changed."
)
@options.force
@options.build_dir
@options.jobs
@options.output
def command(
    *,
    before: str,
    after: str | None,
    models: tuple[str, ...],
    boards: tuple[str, ...],
    io: str | None,
    weights: Path | None,
    html: Path | None,
    force: bool,
    build_dir: Path,
    jobs: int,
    as_json: bool,
    verbose: bool,
    **changes: str | None,
) -> int:
    """Show what changed from BEFORE to AFTER: instructions by op, cycles, flash, RAM, accuracy."""
    from cmbuild.cli.session import session
    from cmbuild.outputs.delivery import check_delivery, deliver
    from cmbuild.projects import comparison
    from cmbuild.projects.thresholds import thresholds
    from cmbuild.report.compare import CompareReport
    from cmbuild.report.html.compare_page import compare_page

    check_delivery([html], force)
    limits = thresholds(changes)
    with session(
        build_dir.absolute() / "logs", json=as_json, verbose=verbose, keep_going=True
    ) as work:
        choices = {"io": io, "weights": weights}
        chosen = {name: value for name, value in choices.items() if value is not None}
        sides = _Sides(work, models, boards, build_dir, jobs, chosen=chosen)
        both = sides.judged(*sides.named(before, after))
        result = comparison.compare(*both, limits)
        work.show(CompareReport(result))
        if html is not None:
            deliver({html: compare_page(result).encode()}, force)
        comparison.verdict(result)
    return work.status


class _Sides:
    """Reads or runs what is compared."""

    def __init__(
        self,
        work: VerbSession,
        models: tuple[str, ...],
        boards: tuple[str, ...],
        build_dir: Path,
        jobs: int,
        *,
        chosen: Mapping[str, str | Path],
    ) -> None:
        """
        Args:
            chosen: options of a run, for models alone.
        """
        self._work = work
        self._models = models
        self._boards = boards
        self._build_dir = build_dir
        self._jobs = jobs
        self._chosen = chosen
        self._stages: dict[str, dict[str, SimulateStage]] = {}
        self._folders: set[Path] = set()

    def named(self, before: str, after: str | None) -> tuple[Side, Side]:
        """
        Raises:
            UsageError: one is a model, and the other is not.
        """
        from cmbuild.errors import UsageError

        others = [name for name in (before, after) if name is None or not _is_model(name)]
        if others and self._chosen:
            raise UsageError(
                message=f"--{next(iter(self._chosen))} is for models; "
                f"{others[0] or 'the project'} is not one",
                hint="a project's models have their options in cmbuild.toml",
            )
        if len(others) == 1:
            model = after if others[0] == before else before
            raise UsageError(
                message=f"{model} is a model; {others[0] or 'the project'} is not one",
                hint="name a second model, or `--model NAME` of two revisions or results",
            )
        return self._of(before), self._of(after)

    def _of(self, name: str | None) -> Side:
        """A model, a path, a revision, or the project as it is if None."""
        from cmbuild.errors import UsageError
        from cmbuild.projects.project import needed_project
        from cmbuild.projects.revision import revision
        from cmbuild.projects.saved import read_side

        if name is not None and _is_model(name):
            return self._of_model(name)
        if name is not None and Path(name).exists():
            return self._filtered(read_side(Path(name)))
        if name is not None and name.endswith(".json"):
            raise UsageError(message=f"{name} not found", hint="`cmbuild run --json` prints one")
        project = needed_project()
        if name is None:
            return self._run("now", project, self._build_dir)
        with revision(name, project, self._build_dir, self._work.processes) as was:
            return self._run(was.title, was.project, was.build_dir)

    def _filtered(self, side: Side) -> Side:
        from dataclasses import replace

        runs = {
            title: run
            for title, run in side.runs.items()
            if run.model in (self._models or (run.model,))
            and run.board in (self._boards or (run.board,))
        }
        failures = {title: side.failures[title] for title in side.failures if title in runs}
        return replace(side, runs=runs, failures=failures)

    def _of_model(self, name: str) -> Side:
        """A model on the boards: the two sides have one title, whatever their names are."""
        from cmbuild.pipeline.defaults import NoBoard
        from cmbuild.pipeline.pipeline import build_folder
        from cmbuild.projects.check import Unit, checked
        from cmbuild.projects.project import find_project
        from cmcompiler.importer.suffixes import PROGRAMS

        project = find_project()
        boards = self._boards or tuple(filter(None, (project.board,)))
        if not boards:
            raise NoBoard()
        units = [Unit("the model", board, None) for board in boards]
        chosen = dict(self._chosen)
        if name.endswith(PROGRAMS):
            chosen.pop("weights", None)
        requests = self._requests(name, boards, self._build_dir, chosen)
        folders = [build_folder(each.build) for each in requests]
        if not self._folders.isdisjoint(folders):
            # Both models have one name: this one would be built over the other.
            requests = self._requests(name, boards, self._build_dir / _OTHER, chosen)
            folders = [build_folder(each.build) for each in requests]
        self._folders.update(folders)
        runs = [self._work.pipeline_of(project).simulate(request) for request in requests]
        self._work.make(runs, folders, self._jobs)
        checks = [
            checked(unit, run.result, self._work.failures.of(run))
            for unit, run in zip(units, runs, strict=True)
        ]
        self._stages[name] = {unit.title: run for unit, run in zip(units, runs, strict=True)}
        return _side(name, checks)

    @staticmethod
    def _requests(
        name: str, boards: Sequence[str], build_dir: Path, chosen: Mapping[str, str | Path]
    ) -> list[RunRequest]:
        from cmbuild.pipeline.options import compose

        return [
            compose(RunRequest, model=name, board=board, build_dir=build_dir, **chosen)
            for board in boards
        ]

    def judged(self, before: Side, after: Side) -> tuple[Side, Side]:
        """Both sides, a program's runs beside the float model that the other side has."""
        stages = [
            {
                title: stage
                for title, stage in self._stages.get(side.title, {}).items()
                if title in side.runs
            }
            for side in (before, after)
        ]
        return _judged(before, *stages), _judged(after, *reversed(stages))

    def _run(self, title: str, project: Project, build_dir: Path) -> Side:
        from cmbuild.pipeline.options import compose
        from cmbuild.pipeline.pipeline import build_folder
        from cmbuild.projects.check import checked, units

        self._work.note(f"{title}:")
        pipeline = self._work.pipeline_of(project)
        chosen = units(project, self._models, self._boards)
        requests = [
            compose(RunRequest, model=unit.model, board=unit.board, build_dir=build_dir)
            for unit in chosen
        ]
        runs = [pipeline.simulate(request) for request in requests]
        self._work.make(runs, [build_folder(each.build) for each in requests], self._jobs)
        checks = [
            checked(unit, run.result, self._work.failures.of(run))
            for unit, run in zip(chosen, runs, strict=True)
        ]
        return _side(title, checks)


def _is_model(name: str) -> bool:
    """Whether it is the path of a model, or one's name in the project or the zoo."""
    from cmbuild.projects.project import find_project
    from cmcompiler import zoo
    from cmcompiler.importer.suffixes import MODELS

    if name.partition(":")[0].endswith(MODELS):
        return True
    return not Path(name).exists() and (name in zoo.names() or name in find_project().models)


def _judged(
    side: Side, own: Mapping[str, SimulateStage], other: Mapping[str, SimulateStage]
) -> Side:
    if not own or not other:
        return side
    from dataclasses import asdict, replace

    from cmbuild.projects.figures import FidelityFigures
    from cmbuild.verify.beside import fidelity_beside

    runs = dict(side.runs)
    for title, run in side.runs.items():
        judge = other[title].measured if title in other else None
        if run.fidelity is not None or judge is None or title not in own:
            continue
        fidelity = fidelity_beside(own[title].runner.plan, judge)
        if fidelity is not None:
            figures = FidelityFigures.model_validate(asdict(fidelity))
            runs[title] = run.model_copy(update={"fidelity": figures})
    return replace(side, runs=runs)


def _side(title: str, checked: Sequence[CheckedUnit]) -> Side:
    from cmbuild.projects.comparison import Side

    return Side(
        title,
        {each.unit.title: each.figures for each in checked if each.figures is not None},
        {each.unit.title: each.failure for each in checked if each.failure is not None},
    )
