"""Models times boards: what to run, and the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.benchmark.upstream import Measurement, measured
from cmbuild.boards.registry import board_folders
from cmbuild.catalog import find_board
from cmbuild.errors import CmbuildError, Failed, UsageError
from cmbuild.launchers.registry import launchers_of
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.request import EXECUTORS, RunRequest
from cmbuild.results import RunResult
from cmbuild.text import plural
from cmbuild.toolchain.toolchains import CROSS, HOST
from cmcompiler import zoo
from cmcompiler.target import BEST_ISA

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.simulate import SimulateStage


UPSTREAMS = "gcc"
"""The toolchain of upstream's measurements."""


@dataclass(frozen=True, slots=True)
class Executors:
    """What runs the programs.

    Attributes:
        names: of request.EXECUTORS.
        root: ExecuTorch's checkout; from the environment or the project if None.
    """

    names: tuple[str, ...] = EXECUTORS[:1]
    root: Path | None = None

    @classmethod
    def named(cls, name: str, root: Path | None) -> Executors:
        """One of them, or `both`."""
        return cls(EXECUTORS if name == "both" else (name,), root)


@dataclass(frozen=True, slots=True)
class BenchCell:
    """A model on a board.

    Attributes:
        toolchain: that built the image.
        best: instruction set and toolchain are those of upstream's measurements.
        result: None if the run did not finish.
        failure: why it did not finish, or is not verified, in one line.
        caveat: how the machine that ran it differs from the board.
        executor: what ran the program: `static`, `executorch`.
    """

    model: str
    board: str
    target: str
    isa: str
    toolchain: str
    best: bool
    result: RunResult | None
    failure: str | None
    caveat: str | None = None
    executor: str = "static"

    @property
    def instructions(self) -> int | None:
        return None if self.result is None else self.result.instructions.total

    @property
    def efficiency(self) -> float | None:
        """Multiply-accumulates of an instruction."""
        if self.result is None or not self.instructions:
            return None
        return self.result.macs / self.instructions

    @property
    def upstream(self) -> Measurement | None:
        """Measurements of upstream's own runtime."""
        return measured().get((self.model, self.target)) if self.best else None

    @property
    def ratio(self) -> float | None:
        """Upstream's instructions divided by this one's."""
        if self.upstream is None or not self.instructions:
            return None
        return self.upstream.instructions / self.instructions


class CellsFailed(Failed):
    template = "{failed} of {cells} failed"


def requests(
    models: str | None,
    boards: str | None,
    toolchains: str | None,
    build_dir: Path,
    executors: Executors = Executors(),
    *,
    max_float: str | None = None,
) -> list[RunRequest]:
    """One for each model on each board, built by each toolchain, run by each executor.

    Args:
        models: names or files, separated by commas; the whole zoo if None.
        boards: names, optionally with `:isa`, separated by commas; all that can run if None.
        toolchains: names, separated by commas; each board's own if None.
        max_float: see cmbuild.pipeline.request.Limits.

    Raises:
        UsageError: nothing to run.
    """
    everything = _names("models", models, zoo.names())
    places = _names("boards", boards, () if boards else _all_boards(cross=toolchains is not None))
    compilers = _names("toolchain", toolchains, CROSS) if toolchains is not None else [None]
    found = []
    for model, place, toolchain, executor in product(
        everything, places, compilers, executors.names
    ):
        board, _, isa = place.partition(":")
        found.append(
            compose(
                RunRequest,
                model=model,
                board=board,
                isa=isa or None,
                toolchain=toolchain,
                executor=executor,
                executorch_root=executors.root,
                build_dir=build_dir,
                max_float=max_float,
            )
        )
    return found


def _all_boards(cross: bool) -> list[str]:
    """
    Args:
        cross: leave out boards that only this computer's own compiler builds for.
    """
    folders = board_folders()
    boards = [find_board(name, folders) for name in folders]
    return [b.name for b in boards if launchers_of(b) and not (cross and b.toolchain == HOST)]


def _names(option: str, chosen: str | None, everything: Iterable[str]) -> list[str]:
    names = everything if chosen is None else filter(None, chosen.split(","))
    if found := list(dict.fromkeys(names)):
        return found
    hint = "`cmbuild models`, `cmbuild boards` and `cmbuild doctor` list them"
    raise UsageError(message=f"--{option} names none", hint=hint)


def cell(run: SimulateStage, failure: CmbuildError | None) -> BenchCell:
    """The result of a run, or why it failed."""
    runner = run.runner
    isa, toolchain = runner.plan.isa, runner.library.toolchain_name
    return BenchCell(
        model=runner.plan.source.name,
        board=runner.board.name,
        target=runner.board.cpu,
        isa=isa.label,
        toolchain=toolchain,
        best=isa is BEST_ISA[runner.board.cpu]
        and (toolchain, runner.executor) == (UPSTREAMS, EXECUTORS[0]),
        result=run.result,
        failure=None if failure is None else failure.message,
        caveat=None if run.result is None else run.launcher.caveat,
        executor=runner.executor,
    )


def check(cells: Sequence[BenchCell]) -> None:
    """
    Raises:
        CellsFailed: saying how many.
    """
    if failed := [each for each in cells if each.failure is not None]:
        raise CellsFailed(failed=len(failed), cells=plural(len(cells), "run"))
