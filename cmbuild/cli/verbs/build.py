"""cmbuild build"""

from __future__ import annotations

from typing import Any

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped
from cmbuild.pipeline.request import BuildRequest, Limits

EPILOG = """\b
Examples:
  cmbuild build mv2 --board corstone300
  cmbuild build model.pte --board corstone300 --io int8 --build-dir out
"""


@click.command(
    "build",
    cls=Grouped,
    epilog=EPILOG,
    short_help="Build firmware for a model, without running it.",
)
@options.chosen_model
@options.of(BuildRequest)
@options.of(Limits)
@options.jobs
@options.output
def command(as_json: bool, verbose: bool, jobs: int, max_float: str | None, **chosen: Any) -> int:
    """Export, plan and build MODEL for a board; show how much of the board's memory it uses."""
    from cmbuild.cli.session import session
    from cmbuild.pipeline.defaults import complete
    from cmbuild.pipeline.floats import excess
    from cmbuild.pipeline.options import compose
    from cmbuild.pipeline.pipeline import build_folder
    from cmbuild.pipeline.results import BuildResult

    limits = Limits(max_float=max_float)
    named, remarks = complete(chosen)
    request = compose(BuildRequest, **named)
    folder = build_folder(request)
    with session(folder / "logs", json=as_json, verbose=verbose, remarks=remarks) as work:
        request = work.settled(request)
        runner = work.pipeline.runner(request)
        work.make([runner], [folder], jobs)
        result = BuildResult.of(runner, request.source.mix)
        work.show(result)
        if (error := excess(result.float, limits.max_float)) is not None:
            raise error
    return work.status
