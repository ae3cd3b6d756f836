"""Models of a project on their boards, against their budgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cmbuild.boards.registry import board_folders
from cmbuild.errors import CmbuildError, Failed, UnknownName, UsageError
from cmbuild.pipeline.results import RunResult
from cmbuild.projects.figures import RunFigures
from cmbuild.projects.file import BudgetFile
from cmbuild.projects.metrics import METRICS, Metric
from cmbuild.projects.project import Project, needed_project
from cmbuild.text import plural
from cmcompiler.suggest import did_you_mean


class NoModels(UsageError):
    template = "{file} names no models"
    hint = "add [models.NAME] with a source; docs/projects.md shows how"


class NoBoards(UsageError):
    template = "{file}: model {model} has no board to be checked on"
    hint = "add [models.{model}.budget.BOARD], or boards in [project], or give --board"


class NoBudgets(UsageError):
    template = "{file} has no budgets"
    hint = "add [models.{model}.budget.{board}] with flash, ram, instructions, …"


class BeyondBudget(Failed):
    template = "{unit}: {problems}"


class CheckFailed(Failed):
    template = "{failed} of {units} failed: {names}"


@dataclass(frozen=True, slots=True)
class Unit:
    """A model on a board.

    Attributes:
        budget: None where only its outputs are verified.
    """

    model: str
    board: str
    budget: BudgetFile | None

    @property
    def title(self) -> str:
        return f"{self.model} on {self.board}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A metric beside its limit.

    Attributes:
        value: None where it was not measured, which fails too.
        detail: what the value comes from, in words.
    """

    metric: Metric
    value: float | None
    limit: float
    detail: str | None = None

    @property
    def excess(self) -> float | None:
        """By how much it is beyond the limit; None if it is within, or not known."""
        if self.value is None:
            return None
        excess = self.metric.excess(self.value, self.limit)
        return excess if excess > 0 else None

    @property
    def problem(self) -> str | None:
        """`1,024 bytes over`; None if it is within the limit."""
        if self.value is None:
            return f"not known: {self.metric.lacking}"
        return None if self.excess is None else self.metric.told(self.excess)

    @property
    def explained(self) -> str | None:
        """The problem with what it comes from; None if it is within the limit."""
        if self.problem is None or self.detail is None:
            return self.problem
        return f"{self.problem}: {self.detail}"


@dataclass(frozen=True, slots=True)
class CheckedUnit:
    """
    Attributes:
        figures: None if it did not run.
        failure: why it did not, or is not verified, in one line.
        findings: one for each limit of its budget, if it ran.
    """

    unit: Unit
    figures: RunFigures | None
    failure: str | None
    findings: tuple[Finding, ...]

    @property
    def is_fine(self) -> bool:
        return self.failure is None and all(each.problem is None for each in self.findings)


def budgeted(project: Project, models: Sequence[str], boards: Sequence[str]) -> list[Unit]:
    """As `units`; raises NoBudgets if none of them has one, or a model with needs."""
    selected = units(project, models, boards)
    limited = (unit.budget or project.checked(unit.model).needs.options for unit in selected)
    if not any(limited):
        first = selected[0]
        raise NoBudgets(file=project.file, model=first.model, board=first.board)
    return selected


def units(project: Project, models: Sequence[str], boards: Sequence[str]) -> list[Unit]:
    """Models of a project on their boards.

    Args:
        models, boards: only these, if there are any. A model that the file gives no board is
            checked on these boards.

    Raises:
        NoModels, NoBoards: there are none.
        UnknownName: one of `models` or `boards` is not the project's, or no board.
        BrokenFile: the file names a board that does not exist.
    """
    known = tuple(project.models)
    if not known:
        raise NoModels(file=project.file)
    for name in models:
        if name not in known:
            raise UnknownName(kind="model of the project", name=name, known=known)
    selected = [unit for name in models or known for unit in _units(project, name, boards)]
    places = dict.fromkeys(unit.board for unit in selected)
    for name in boards:
        if name not in places:
            raise UnknownName(kind="board of the project", name=name, known=places)
    return [unit for unit in selected if not boards or unit.board in boards]


def _units(project: Project, name: str, boards: Sequence[str]) -> Iterator[Unit]:
    budgets = project.checked(name).budgets
    known = board_folders(project.folder.absolute())
    keys: dict[str, tuple[str, ...]] = {
        board: ("models", name, "budget", board) for board in budgets
    }
    for board in project.boards:
        keys.setdefault(board, ("project", "boards"))
    if not keys and project.board is not None:
        keys[project.board] = ("project", "board")
    if not keys and not boards:
        raise NoBoards(file=project.file, model=name)
    if not keys:
        for board in boards:
            if board not in known:
                raise UnknownName(kind="board", name=board, known=known)
            yield Unit(name, board, None)
    for board, key in keys.items():
        if board not in known:
            raise project.broken(key, f"unknown board {board!r}", did_you_mean(board, known))
        yield Unit(name, board, budgets.get(board))


def checked(unit: Unit, run: RunResult | None, failure: CmbuildError | None) -> CheckedUnit:
    """The outcome of a unit's run, whose result is None if it has none."""
    figures = None if run is None else RunFigures.of(run)
    told = None if failure is None else failure.message
    if figures is None and told is None:
        told = "it did not run"
    limits = () if figures is None else tuple(findings(unit.budget, figures))
    return CheckedUnit(unit, figures, told, limits)


def findings(budget: BudgetFile | None, figures: RunFigures) -> Iterator[Finding]:
    """The limits of a budget beside the figures of a run."""
    for metric in METRICS:
        limit = None if budget is None else getattr(budget, metric.name)
        if limit is not None:
            yield Finding(metric, metric.value(figures), limit, metric.detail(figures))


def check_run(run: RunResult, model: str, board: str) -> None:
    """Compares a run with the budget that the current project has for it.

    Raises:
        BeyondBudget: naming each limit that it is beyond.
        UsageError: there is no such model, or no budget for it on this board.
    """
    project = needed_project()
    (unit,) = units(project, (model,), (board,))
    if unit.budget is None:
        raise NoBudgets(file=project.file, model=model, board=board)
    limits = findings(unit.budget, RunFigures.of(run))
    problems = [f"{each.metric.name} {each.explained}" for each in limits if each.problem]
    if problems:
        raise BeyondBudget(unit=unit.title, problems="; ".join(problems))


def verdict(results: Sequence[CheckedUnit]) -> None:
    """
    Raises:
        CheckFailed: naming the units that failed.
    """
    if failed := [each.unit.title for each in results if not each.is_fine]:
        names = ", ".join(failed[:3]) + (", …" if len(failed) > 3 else "")
        count = plural(len(results), "unit")
        raise CheckFailed(failed=len(failed), units=count, names=names)
