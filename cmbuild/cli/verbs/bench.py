"""cmbuild bench"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped
from cmbuild.pipeline.needs import Needs
from cmbuild.pipeline.request import (
    HARDWARE,
    PROBE,
    SIMULATOR,
    WEIGHTS,
    Boundary,
    ExecutorChoice,
    Limits,
    ModelChoice,
    Planning,
    RunRequest,
)
from cmbuild.toolchain.toolchains import CROSS

EPILOG = """\b
Examples:
  cmbuild bench --models resnet8,ds_cnn --boards corstone300,microbit
  cmbuild bench --boards corstone300,corstone300:scalar --markdown table.md
  cmbuild bench --models ds_cnn --boards corstone300 --toolchain gcc,clang,zig
  cmbuild bench --boards mps2-an386 --io int8 --weights-as int8,int16
  cmbuild bench --models ds_cnn --boards native,microbit --activations int16
  cmbuild bench --models net.py:make,model.pte --csv all.csv --html all.html
  cmbuild bench --models digits,mlp --boards rp2350 --on labgrid:board=rp2350

Without --models or --boards: everything that can be simulated here. If a model fails on a
board, the row gives the reason, the others continue, and the exit status is 1.
"""


@click.command(
    "bench", cls=Grouped, epilog=EPILOG, short_help="Run models on boards; compare with upstream."
)
@click.option("--models", metavar="A,B", help="Names of `cmbuild models`, or files.")
@click.option("--boards", metavar="X,Y", help="Of `cmbuild boards`; BOARD:ISA for a lower ISA.")
@click.option("--toolchain", metavar="P,Q", help=f"{', '.join(CROSS)}: compare what they build.")
@click.option(
    "--executor",
    type=click.Choice(["static", "executorch", "both"]),
    default="static",
    help="executorch: ExecuTorch's own runtime; both: compare them.",
)
@options.of(ExecutorChoice, only=("executorch_root",))
@options.of(ModelChoice, only=("weights", "activations"))
@options.of(Boundary, only=("io", "feed"))
@options.of(Planning, only=("ram_budget",))
@click.option(
    "--weights-as",
    metavar="P,Q",
    help=f"{', '.join(WEIGHTS)}: compare them, where kernels use the DSP extension.",
)
@options.of(Limits)
@options.of(Needs)
@options.of(RunRequest, only=("on",))
@click.option("--csv", "csv_file", type=options.FILE, metavar="FILE", help="Write a table here.")
@click.option("--markdown", type=options.FILE, metavar="FILE", help="The same in Markdown.")
@click.option(
    "--html", type=options.FILE, metavar="FILE", help="A page: cycles against RAM, and the table."
)
@options.force
@options.build_dir
@options.jobs
@options.cluster
@options.output
def command(
    *,
    models: str | None,
    boards: str | None,
    toolchain: str | None,
    executor: str,
    executorch_root: Path | None,
    io: str | None,
    feed: str | None,
    ram_budget: str | None,
    weights_as: str | None,
    max_float: str | None,
    snr: float | None,
    accuracy_drop: str | None,
    flash_budget: str | None,
    on: str,
    csv_file: Path | None,
    markdown: Path | None,
    html: Path | None,
    force: bool,
    build_dir: Path,
    jobs: int,
    workers: int | None,
    scheduler: str | None,
    as_json: bool,
    verbose: bool,
    **types: Any,
) -> int:
    """Run every model on every board, verify each, and compare its cost with ExecuTorch's own
    runtime where measured.
    """
    from cmbuild.benchmark import matrix
    from cmbuild.cli.session import session
    from cmbuild.errors import UsageError
    from cmbuild.outputs.delivery import check_delivery, deliver
    from cmbuild.pipeline.pipeline import build_folder
    from cmbuild.report.bench import BenchReport
    from cmbuild.report.bench_files import to_csv, to_markdown
    from cmbuild.report.html.bench_page import bench_page
    from cmbuild.workers.choice import WorkersChoice

    check_delivery([csv_file, markdown, html], force)
    needs = Needs(snr=snr, accuracy_drop=accuracy_drop, flash_budget=flash_budget)
    cluster = WorkersChoice(workers, scheduler)
    if needs.options and cluster.is_chosen:
        raise UsageError(message=f"{' and '.join(needs.options)} goes without --workers")
    executors = matrix.Executors.named(executor, executorch_root)
    requests = matrix.requests(
        models,
        boards,
        toolchain,
        build_dir,
        executors,
        weights=weights_as,
        io=io,
        feed=feed,
        ram_budget=ram_budget,
        max_float=max_float,
        needs=needs,
        on=on,
        types=types,
    )
    named = {
        "models": models,
        "boards": boards,
        "toolchain": toolchain,
        "io": io,
        "feed": feed,
        "ram-budget": ram_budget,
        **types,
        "weights-as": weights_as,
        "max-float": max_float,
        "snr": snr,
        "accuracy-drop": accuracy_drop,
        "flash-budget": flash_budget,
        "on": None if on == SIMULATOR else on,
        "markdown": markdown,
    }
    chosen = [f"--{name} {value}" for name, value in named.items() if value is not None]
    chosen += [f"--executor {executor}"] if executor != "static" else []
    command_line = " ".join(["cmbuild bench", *chosen])

    folders = [build_folder(request.build) for request in requests]
    with session(
        build_dir.absolute() / "logs", json=as_json, verbose=verbose, keep_going=True
    ) as work:
        runs = [work.simulated(request) for request in requests]
        due = [run for run in runs if work.failures.own(run) is None]
        if cluster.is_chosen:
            from cmbuild.workers.distribution import distribute

            failures = {}
            for index, answer in distribute(work, requests, cluster):
                runs[index].result, failures[runs[index]] = answer.result, answer.failure
        else:
            # The runs of one board wait for each other.
            work.make(due, folders, 1 if on in (HARDWARE, PROBE) else jobs)
            failures = {run: work.failures.of(run) for run in runs}
        cells = [matrix.cell(run, failures[run]) for run in runs]
        work.show(BenchReport(cells))
        if csv_file is not None:
            deliver({csv_file: to_csv(cells).encode()}, force)
        if markdown is not None:
            deliver({markdown: to_markdown(cells, command_line).encode()}, force)
        if html is not None:
            deliver({html: bench_page(cells).encode()}, force)
        matrix.check(cells)
    return work.status
