"""Models times boards: what to run, and the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cmbuild.benchmark.upstream import Measurement, measured
from cmbuild.boards.registry import board_folders
from cmbuild.catalog import find_board
from cmbuild.errors import CmbuildError, Failed, UnknownName, UsageError
from cmbuild.launchers.registry import launchers_of
from cmbuild.pipeline.needs import Needs
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.request import EXECUTORS, NARROW, SIMULATOR, WEIGHTS, WIDE, RunRequest
from cmbuild.pipeline.results import RunResult
from cmbuild.text import plural
from cmbuild.toolchain.toolchains import CROSS, HOST
from cmcompiler import zoo
from cmcompiler.isa import Isa
from cmcompiler.target import BEST_ISA

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.simulate import SimulateStage


UPSTREAMS = "gcc"
"""The toolchain of upstream's measurements."""


@dataclass(frozen=True, slots=True)
class Executors:
    """The program runners of a benchmark.

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
        best: the zoo's model, with the instruction set and toolchain of upstream's measurements.
        result: None if the run did not finish.
        failure: why it did not finish, or is not verified, in one line.
        caveat: how the machine that ran it differs from the board.
        executor: what ran the program: `static`, `executorch`.
        weights: of request.WEIGHTS, those of convolutions and linear layers.
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
    weights: str = NARROW

    @property
    def is_measured(self) -> bool:
        """Whether a real board counted its cycles."""
        return self.result is not None and self.result.instructions.unit == "cycles"

    @property
    def instructions(self) -> int | None:
        return None if self.result is None or self.is_measured else self.result.instructions.total

    @property
    def cycles(self) -> int | None:
        """Measured, or by a model of the core."""
        if self.result is None:
            return None
        if self.is_measured:
            return self.result.instructions.total
        return None if self.result.cycles is None else self.result.cycles.total

    @property
    def cycles_with_flash(self) -> int | None:
        """By a model of the chip's flash; None where the board's is not described."""
        estimate = None if self.result is None else self.result.cycles
        flash = None if estimate is None else estimate.with_flash
        return None if flash is None else flash.total

    @property
    def milliseconds(self) -> float | None:
        """At the clock that the board starts with."""
        estimate = None if self.result is None else self.result.cycles
        if estimate is None or not self.is_measured:
            return None if estimate is None else estimate.milliseconds
        if estimate.clock_hz is None or self.cycles is None:
            return None
        return self.cycles / estimate.clock_hz * 1e3

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
    weights: str | None = None,
    io: str | None = None,
    feed: str | None = None,
    ram_budget: str | None = None,
    max_float: str | None = None,
    needs: Needs | None = None,
    on: str = SIMULATOR,
    types: Mapping[str, Any] = MappingProxyType({}),
) -> list[RunRequest]:
    """One for each model on each board, built by each toolchain, run by each executor, with each
    type of weights that its kernels read.

    Args:
        models: names or files, separated by commas; the whole zoo if None.
        boards: names, optionally with `:isa`, separated by commas; all that can run if None.
        toolchains: names, separated by commas; each board's own if None.
        weights: of request.WEIGHTS, separated by commas; the first if None.
        io, feed, ram_budget: of the static executor: see cmbuild.pipeline.request.
        needs: by which precision is chosen, of programs that are exported.
        max_float: see cmbuild.pipeline.request.Limits.
        on: see RunRequest.
        types: `weights` and `activations` of ModelChoice, of programs that are exported.

    Raises:
        UsageError: nothing to run, or real boards without names.
    """
    if on != SIMULATOR and boards is None:
        raise UsageError(message=f"--on {on} needs --boards")
    everything = _names("models", models, zoo.names())
    places = _names("boards", boards, () if boards else _all_boards(cross=toolchains is not None))
    compilers = _names("toolchain", toolchains, CROSS) if toolchains is not None else [None]
    widths = _names("weights-as", weights, WEIGHTS) if weights is not None else [None]
    if unknown := [width for width in widths if width and width not in WEIGHTS]:
        raise UnknownName(kind="type of weights", name=unknown[0], known=WEIGHTS)
    cells = []
    for model, place, toolchain, executor, width in product(
        everything, places, compilers, executors.names, widths
    ):
        if width == WIDE and len(widths) > 1 and not _reads_wide(place, executor):
            continue
        cells.append(
            compose(
                RunRequest,
                model=model,
                **parse_board(place),
                toolchain=toolchain,
                executor=executor,
                executorch_root=executors.root,
                build_dir=build_dir,
                weights_as=width,
                io=io,
                feed=feed if executor == EXECUTORS[0] else None,
                ram_budget=ram_budget if executor == EXECUTORS[0] else None,
                max_float=max_float,
                **types,
                **({} if needs is None else asdict(needs)),
                on=on,
            )
        )
    return cells


def parse_board(place: str) -> dict[str, str | None]:
    """Options of a request for `corstone300` or `corstone300:scalar`."""
    board, _, isa = place.partition(":")
    return {"board": board, "isa": isa or None}


def _reads_wide(place: str, executor: str) -> bool:
    """Whether kernels read weights of int16."""
    board, isa = parse_board(place).values()
    assert board is not None
    best = find_board(board, board_folders()).isas[0].label
    return executor == EXECUTORS[0] and (isa or best) == Isa.DSP.label


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
    if unique := list(dict.fromkeys(names)):
        return unique
    hint = "`cmbuild models`, `cmbuild boards` and `cmbuild doctor` list them"
    raise UsageError(message=f"--{option} names none", hint=hint)


def cell(run: SimulateStage, failure: CmbuildError | None) -> BenchCell:
    """The result of a run, or why it failed."""
    runner = run.runner
    isa, toolchain = runner.plan.isa, runner.library.toolchain_name
    source = runner.plan.source
    return BenchCell(
        model=source.name,
        board=runner.board.name,
        target=runner.board.cpu,
        isa=isa.label,
        toolchain=toolchain,
        best=source.model in zoo.names()
        and isa is BEST_ISA[runner.board.cpu]
        and (toolchain, runner.executor) == (UPSTREAMS, EXECUTORS[0]),
        result=run.result,
        failure=None if failure is None else failure.message,
        caveat=_caveat(run),
        executor=runner.executor,
        weights=WEIGHTS[runner.plan.options.wide],
    )


def _caveat(run: SimulateStage) -> str | None:
    """The launcher's caveat; the launcher need not be on this computer."""
    if run.result is None:
        return None
    named = {each.name: each for each in launchers_of(run.runner.board)}
    launcher = named.get(run.result.launcher)  # a real board is none of them
    return None if launcher is None else launcher.caveat


def check(cells: Sequence[BenchCell]) -> None:
    """
    Raises:
        CellsFailed: saying how many.
    """
    if failed := [each for each in cells if each.failure is not None]:
        raise CellsFailed(failed=len(failed), cells=plural(len(cells), "run"))
