"""cmbuild build"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cmbuild.cli import options

if TYPE_CHECKING:
    from cmbuild.pipeline.pipeline import Pipeline
    from cmbuild.pipeline.session import Session
    from cmbuild.pipeline.stages.runner import RunnerStage

EPILOG = """\b
Examples:
  cmbuild build mv2 --board corstone300
  cmbuild build model.pte --board corstone300 --io int8 --build-dir out
"""


@click.command("build", epilog=EPILOG, short_help="Build firmware for a model, without a run.")
@options.model
@options.build
@options.jobs
@options.output
def command(as_json: bool, verbose: bool, jobs: int, **chosen: Any) -> int:
    """Export, plan and build MODEL for a board; tell what it takes of the board's memory."""
    from cmbuild.cli.work import work
    from cmbuild.pipeline.pipeline import build_folder
    from cmbuild.pipeline.request import BuildRequest

    request = BuildRequest(**chosen)
    folder = build_folder(request)

    def stages(pipeline: Pipeline) -> list[RunnerStage]:
        return [pipeline.runner(request)]

    def conclude(session: Session, runners: Sequence[RunnerStage]) -> None:
        session.reports += [runner.report() for runner in runners]

    return work(
        stages,
        [folder],
        conclude=conclude,
        logs=folder / "logs",
        json=as_json,
        verbose=verbose,
        jobs=jobs,
    )
