"""The verbs as functions: they return results, and raise the project's errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild import paths
from cmbuild.accuracy import EvalResult
from cmbuild.api.arguments import count, flag, names, optional_path, text
from cmbuild.api.translation import own_errors
from cmbuild.benchmark.matrix import parse_board
from cmbuild.cache.folders import CacheFolder
from cmbuild.display.tables import ResultTable
from cmbuild.errors import UsageError
from cmbuild.mixing.settling import settled, settled_package, settled_source
from cmbuild.outputs.delivery import check_delivery, deliver
from cmbuild.pipeline.callback import Callback, Progress
from cmbuild.pipeline.evaluation import EvalRequest, failure_of
from cmbuild.pipeline.evaluation import evaluate as compare_forms
from cmbuild.pipeline.floats import excess
from cmbuild.pipeline.naming import package_folder
from cmbuild.pipeline.options import checked, compose
from cmbuild.pipeline.pipeline import UNNAMED, build_folder
from cmbuild.pipeline.request import NATIVE, BuildRequest, PackageRequest, RunRequest
from cmbuild.pipeline.results import BuildResult, PackageResult, RunResult
from cmbuild.pipeline.session import Session
from cmbuild.pipeline.stages.stage import Stage
from cmbuild.process import Processes
from cmbuild.report.html.page import page
from cmbuild.sizing.curves import check_curve
from cmbuild.sizing.fits import Fits, boards_with_memory
from cmbuild.sizing.results import FitResult
from cmbuild.tasks.run import run as perform
from cmbuild.workers.choice import WorkersChoice
from cmbuild.workers.distribution import distribute
from cmbuild.workers.evaluation import DataRequest, evaluate_data, parse_until
from cmbuild.workers.fitting import fit_on_workers
from cmbuild.workers.pool import Pool
from cmbuild.workers.results import SweepResult
from cmbuild.workers.units import RunUnit

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cmbuild.api.options import BuildOptions, EvaluateOptions, PackageOptions, RunOptions
    from cmbuild.mixing.trials import Perform


@own_errors
def run(
    model: str | Path,
    board: str,
    *,
    html: str | Path | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
    **options: Unpack[RunOptions],
) -> RunResult:
    """Exports, builds and runs a model, and verifies its outputs.

    Args:
        model: as on the command line: `mv2`, `net.py:make`, `kws.pte`, `kws.tflite`.
        html: a file for the report with pictures.
        progress: is called as each step ends.
        jobs: stages to work on at once.
        options: those of `cmbuild run`, by the names of RunRequest's fields: `isa="scalar"`,
            `samples=20`, `weights=Path("kws.pt")`.

    Raises:
        TypeError: an unknown option.
        UsageError: a wrong value, or an unknown model or board.
        Mismatch: outputs differ from the reference.
        CmbuildError: anything else that makes the command fail.
    """
    report = optional_path("html", html)
    jobs = count("jobs", jobs)
    request = compose(RunRequest, model=model, board=board, **options)
    force = request.build.source.force
    check_delivery([report], force)
    folder = build_folder(request.build)
    with _session(folder / "logs", progress) as session:
        request = replace(request, build=_settled(session, request.build, jobs))
        stage = session.pipeline.simulate(request)
        try:
            perform(session, [stage], [folder], jobs)
        finally:
            if report is not None and stage.result is not None:
                deliver({report: page(stage.result).encode()}, force)
    assert stage.result is not None
    return stage.result


@own_errors
def build(
    model: str | Path,
    board: str,
    *,
    progress: Progress | None = None,
    jobs: int = 1,
    **options: Unpack[BuildOptions],
) -> BuildResult:
    """Exports a model and links its firmware, without running it.

    Args and errors are those of `run`, with the options of `cmbuild build`.
    """
    jobs = count("jobs", jobs)
    request = compose(BuildRequest, model=model, board=board, **options)
    folder = build_folder(request)
    with _session(folder / "logs", progress) as session:
        request = _settled(session, request, jobs)
        runner = session.pipeline.runner(request)
        perform(session, [runner], [folder], jobs)
    return BuildResult.of(runner, request.source.mix)


@own_errors
def package(
    model: str | Path,
    output_dir: str | Path | None = None,
    *,
    progress: Progress | None = None,
    jobs: int = 1,
    **options: Unpack[PackageOptions],
) -> PackageResult:
    """Packages a model as C source for another build.

    Args:
        output_dir: replaces an earlier package there; by default in the build folder.
            `force=True` writes over files there that others made or changed.
        options: those of `cmbuild package`, whose `--as` is `form` here.

    Other args and errors are those of `run`.
    """
    jobs = count("jobs", jobs)
    request = compose(PackageRequest, model=model, output_dir=output_dir, **options)
    folder = package_folder(request)
    with _session(folder / "logs", progress) as session:
        request = settled_package(request, session.pipeline, _performer(session, jobs))
        stage = session.pipeline.package(request)
        perform(session, [stage], [folder], jobs)
        if session.failures.first is not None:
            raise session.failures.first
        result = stage.deliver(request.destination)
        if (error := excess(result.float, request.limits.max_float)) is not None:
            raise error
    return result


@own_errors
def evaluate(
    model: str | Path,
    board: str | None = None,
    *,
    data: str | Path | None = None,
    until: str | None = None,
    sensitivity: bool = False,
    workers: int | Pool | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
    **options: Unpack[EvaluateOptions],
) -> EvalResult:
    """Compares a model in float, fake-quantised, in int8 and, with a board, on a device.

    Args:
        data: labelled samples to measure the accuracy on instead: an .npz, a folder with one of
            each class, or `data.py:samples`, as of `cmbuild eval --data`. Without a board, this
            computer runs them.
        until: `0.5%`: stop when accuracy is known to so much.
        sensitivity: also measure what quantising each operator alone costs.
        workers, scheduler: as of `sweep`, for chunks of the data.
        options: those of `cmbuild eval`; `resume=True` takes up an earlier evaluation of the same
            data. `min_snr=20` demands dB of every output and layer.

    Other args and errors are those of `run`.

    Raises:
        NotFaithful, BelowLeast: the program is not the model, or keeps less than `min_snr` of it.
        UsageError: `data` with what judges layers, or what needs `data` without it.
    """
    jobs, sensitivity = count("jobs", jobs), flag("sensitivity", sensitivity)
    cluster = WorkersChoice(workers, scheduler)
    if data is not None:
        if sensitivity or options.get("min_snr") is not None:
            raise UsageError(message="data goes without sensitivity and min_snr")
        board = NATIVE if board is None else board
        options.pop("min_snr", None)
        share = None if until is None else parse_until(text("until", until))
        samples = options.get("samples")
        if isinstance(samples, str) and samples == "all":
            options["samples"] = None
        wanted = compose(DataRequest, model=model, board=board, data=data, until=share, **options)
        with _session(build_folder(wanted.build) / "logs", progress) as session:
            wanted = replace(wanted, source=_settled(session, wanted.build, jobs).source)
            evaluation = evaluate_data(session, wanted, cluster)
        return evaluation
    if until is not None or cluster.is_chosen:
        raise UsageError(message="until, workers and scheduler need data")
    request = compose(EvalRequest, model=model, board=board, **options)
    if sensitivity:
        request = replace(request, source=replace(request.source, sensitivity=True))
    with _session(request.folder / "logs", progress) as session:
        source = settled_source(
            request.source,
            UNNAMED if request.board is None else request.board,
            session.pipeline,
            _performer(session, jobs),
            build_dir=request.build_dir,
            isa=request.isa,
        )
        request = replace(request, source=source)

        def work(stages: Sequence[Stage], folders: Sequence[Path]) -> None:
            perform(session, stages, folders, jobs)
            if session.failures.first is not None:
                raise session.failures.first

        result = compare_forms(session.pipeline, request, work)
        if (failure := failure_of(result, request)) is not None:
            raise failure
    return result


@own_errors
def fit(
    models: str | Path | Iterable[str | Path],
    boards: str | Iterable[str] = (),
    *,
    ram_curve: bool = False,
    export: bool = False,
    workers: int | Pool | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[BuildOptions],
) -> ResultTable[FitResult]:
    """Which models fit which boards, without building.

    Args:
        models: one or several, as of `run`.
        boards: all with limited memory if none.
        ram_curve: set `curve` of the results, for named boards and without workers.
        export: export models not yet exported; otherwise `need` of their results is None.
        workers, scheduler: as of `sweep`.
        options: `io`, `feed`, `weights_as`, and needs, as `snr=35`.

    Raises:
        UsageError: an unknown model or board.
        CmbuildError: an export failed.
    """
    choice = WorkersChoice(workers, scheduler)
    given = {"build_dir": Path()} | checked(BuildRequest, options)
    places = boards_with_memory(names("boards", boards), given.get("weights_as"))
    export = flag("export", export)
    if ram_curve := flag("ram_curve", ram_curve):
        named = names("models", models), names("boards", boards)
        check_curve(*named, given.get("ram_budget"), on_workers=choice.is_chosen)
    per_model = [
        [compose(BuildRequest, model=model, board=place.name, **given) for place in places]
        for model in names("models", models)
    ]
    with _session(CacheFolder.LOGS.path, progress) as session:
        per_model = [[_settled(session, each, 1) for each in row] for row in per_model]
        requests = [request for row in per_model for request in row]
        if choice.is_chosen:
            cells = fit_on_workers(
                session, per_model, places, choice, export=export, remedied=False
            )
            return ResultTable(cell.result for cell in cells)
        fits = Fits(session.pipeline)
        if export:
            perform(session, fits.missing(requests), [])
            if session.failures.first is not None:
                raise session.failures.first
        cells = [fits.cell(request) for request in requests]
        if ram_curve:
            pairs = zip(cells, requests, strict=True)
            cells = [fits.curved(cell, request) for cell, request in pairs]
    return ResultTable(cell.result for cell in cells)


@own_errors
def sweep(
    models: str | Path | Iterable[str | Path],
    boards: str | Iterable[str],
    *,
    workers: int | Pool | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[RunOptions],
) -> Iterator[SweepResult]:
    """Runs every model on every board, and yields each result as it comes.

    A run that fails is a result with its error; the others go on.

    Args:
        boards: names; `corstone300:scalar` for a lower instruction set.
        workers, scheduler: as `cmbuild bench --workers N` and `--scheduler URL`.
        options: those of `run`.

    Raises:
        TypeError, UsageError: at the call, for options that no run can have.
    """
    given = checked(RunRequest, options)
    requests = [
        compose(RunRequest, model=model, **given | _placed(board))
        for model in names("models", models)
        for board in names("boards", boards)
    ]
    cluster, reporter = WorkersChoice(workers, scheduler), Callback(progress)
    if cluster.is_chosen:
        return _distributed(requests, cluster, progress)
    opened = partial(Session, reporter)
    return (RunUnit(request).perform(opened) for request in requests)


@contextmanager
def pool(workers: int) -> Iterator[Pool]:
    """Workers on this computer that several calls share, also of several threads: gives what they
    take as `workers`.

    Exports are faster than in workers of one call, since each worker imports torch only once.

    Raises:
        UsageError: fewer than one.
    """
    workers = count("workers", workers)
    with Pool(workers, Processes(), paths.default_build() / "logs") as pool:
        yield pool


def _placed(board: str) -> dict[str, str]:
    """Its own instruction set goes before that of all."""
    return {name: value for name, value in parse_board(board).items() if value is not None}


def _distributed(
    requests: Sequence[RunRequest], cluster: WorkersChoice, progress: Progress | None
) -> Iterator[SweepResult]:
    with _session(paths.default_build() / "logs", progress) as session:
        for _, result in distribute(session, requests, cluster):
            yield result


def _settled(session: Session, request: BuildRequest, jobs: int) -> BuildRequest:
    """The request with the precision that its needs choose."""
    return settled(request, session.pipeline, _performer(session, jobs))


def _performer(session: Session, jobs: int) -> Perform:
    def work(stages: Sequence[Stage]) -> None:
        perform(session, stages, [], jobs)
        if session.failures.first is not None:
            raise session.failures.first

    return work


@contextmanager
def _session(logs: Path, progress: Progress | None) -> Iterator[Session]:
    """Raises the first failure at its end."""
    with Session(Callback(progress), logs) as session:
        yield session
    if session.failures.first is not None:
        raise session.failures.first
