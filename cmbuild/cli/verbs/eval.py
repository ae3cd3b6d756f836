"""cmbuild eval"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from cmbuild.cli import options
from cmbuild.pipeline.request import BuildRequest, ModelChoice, Sampling, SensitiveChoice

EPILOG = """\b
Examples:
  cmbuild eval digits
  cmbuild eval net.py --calibration samples.npz --sensitivity
  cmbuild eval digits --board corstone300 -n 100 --json

The samples are those that the export saves. Without a board nothing runs on a
device.
"""

_MOST = 100
"""Samples that a device computes unless more are requested."""


@click.command(
    "eval", epilog=EPILOG, short_help="Compare a model in float, in int8, and on a board."
)
@options.model
@options.of(ModelChoice)
@options.of(BuildRequest, only=("board", "isa", "toolchain"), board={"required": False})
@options.of(Sampling, only=("samples",), samples={"help": "Number of samples; by default all."})
@click.option(
    "--sensitivity", is_flag=True, help="Show what quantising each operator alone costs, in dB."
)
@options.build_dir
@options.jobs
@options.output
def command(
    *,
    board: str | None,
    samples: int | None,
    as_json: bool,
    verbose: bool,
    jobs: int,
    sensitivity: bool,
    **chosen: Any,
) -> int:
    """Run MODEL as a float module, as torch computes it quantised, as the int8 reference and, with
    a board, on a device, and show accuracy or SNR of each.
    """
    from cmbuild.cli.session import session
    from cmbuild.errors import UsageError
    from cmbuild.pipeline.options import compose
    from cmbuild.pipeline.pipeline import build_folder, evaluation_folder
    from cmbuild.pipeline.request import RunRequest
    from cmbuild.verify.evaluation import evaluate

    places = {name: chosen.pop(name) for name in ("isa", "toolchain", "build_dir")}
    source = (SensitiveChoice if sensitivity else ModelChoice)(**chosen)
    if source.is_program:
        raise UsageError(message=f"{source.model} is a program, without a float model to compare")
    folder = evaluation_folder(source, places["build_dir"])
    with session(folder / "logs", json=as_json, verbose=verbose) as work:
        measured = work.pipeline.measured(source, board, folder, samples)
        work.perform([measured], [folder], jobs)
        if measured.real_outputs is None:
            raise UsageError(message=f"{source.model} has no float outputs to compare")
        if board is None:
            work.show(evaluate(measured, None, None))
        else:
            count = samples or min(_MOST, len(measured.samples))
            request = compose(RunRequest, board=board, samples=count, **places, **chosen)
            request = replace(request, build=replace(request.build, source=source))
            run = work.pipeline.simulate(request)
            work.perform([run], [build_folder(request.build)], jobs)
            work.show(evaluate(run.reference, board, run.outputs))
    return work.status
