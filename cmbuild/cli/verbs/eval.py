"""cmbuild eval"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped
from cmbuild.pipeline.request import (
    NATIVE,
    BuildRequest,
    LeastQuality,
    ModelChoice,
    RunRequest,
    Sampling,
)

EPILOG = """\b
Examples:
  cmbuild eval digits
  cmbuild eval net.py --calibration samples.npz --sensitivity
  cmbuild eval digits --board corstone300 -n 100 --json
  cmbuild eval digits --data test.npz
  cmbuild eval digits --board corstone300 --data test.npz --until 0.5% --resume
  cmbuild eval net.py --board rp2350 --data photos
  cmbuild eval net.py --board rp2350 --data data.py:samples
  cmbuild eval mlp --board rp2350 --data test.npz --on labgrid:board=rp2350

The samples are those that the export saves, or --data. Without a board nothing
runs on a device.
"""


@click.command(
    "eval",
    cls=Grouped,
    epilog=EPILOG,
    short_help="Compare a model in float, in int8, and on a board.",
)
@options.model
@options.of(ModelChoice, without=("intermediates", "force"))
@options.of(BuildRequest, only=("board", "isa", "toolchain"), board={"required": False})
@options.of(RunRequest, only=("on",))
@options.of(
    Sampling,
    only=("samples",),
    samples={"help": "Number, or all; by default as many as take some seconds, or all of --data."},
)
@options.of(LeastQuality)
@click.option(
    "--sensitivity", is_flag=True, help="Show what quantising each operator alone costs, in dB."
)
@click.option(
    "--data",
    type=options.FILE,
    metavar="DATA",
    help="An .npz of labelled samples, a folder with one of each class, or FILE.py:FUNCTION; "
    "this computer runs them without --board.",
)
@click.option("--until", metavar="SHARE", help="Stop when accuracy is known to so much: 0.5%.")
@click.option("--resume", is_flag=True, help="Take up an earlier evaluation of the same data.")
@options.cluster
@options.build_dir
@options.jobs
@options.output
def command(
    *,
    board: str | None,
    samples: int | Literal["all"] | None,
    min_snr: float | None,
    as_json: bool,
    verbose: bool,
    jobs: int,
    sensitivity: bool,
    data: Path | None,
    until: str | None,
    resume: bool,
    workers: int | None,
    scheduler: str | None,
    **chosen: Any,
) -> int:
    """Run MODEL as a float module, as torch computes it quantised, as the int8 reference and, with
    a board, on a device, and show accuracy or SNR of each.
    """
    from cmbuild.cli.session import session
    from cmbuild.errors import UsageError
    from cmbuild.pipeline.evaluation import EvalRequest, evaluate, failure_of
    from cmbuild.pipeline.options import compose
    from cmbuild.pipeline.pipeline import UNNAMED, build_folder
    from cmbuild.workers.choice import WorkersChoice
    from cmbuild.workers.evaluation import DataRequest, evaluate_data, parse_until

    places = {name: chosen.pop(name) for name in ("isa", "toolchain", "on", "build_dir")}
    build_dir = places["build_dir"]
    source = replace(compose(ModelChoice, **chosen), sensitivity=sensitivity)
    quality = LeastQuality(min_snr=min_snr)
    cluster = WorkersChoice(workers, scheduler)
    if data is not None:
        if sensitivity or min_snr is not None:
            raise UsageError(message="--data goes without --sensitivity and --min-snr")
        board = board or NATIVE
        share = None if until is None else parse_until(until)
        wanted = DataRequest(
            source=source,
            board=board,
            data=data,
            samples=None if samples == "all" else samples,
            until=share,
            resume=resume,
            **places,
        )
        logs = build_folder(wanted.build) / "logs"
        with session(logs, json=as_json, verbose=verbose) as work:
            wanted = replace(
                wanted,
                source=work.settled_source(source, board or UNNAMED, build_dir, isa=places["isa"]),
            )
            work.show(evaluate_data(work, wanted, cluster))
        return work.status
    if until is not None or resume or cluster.is_chosen:
        raise UsageError(message="--until, --resume, --workers and --scheduler need --data")
    request = EvalRequest(source=source, board=board, samples=samples, quality=quality, **places)
    with session(request.folder / "logs", json=as_json, verbose=verbose) as work:
        perform = partial(work.make, jobs=jobs)
        request = replace(
            request,
            source=work.settled_source(source, board or UNNAMED, build_dir, isa=places["isa"]),
        )
        result = evaluate(work.pipeline, request, perform)
        work.show(result)
        if (failure := failure_of(result, request)) is not None:
            raise failure
    return work.status
