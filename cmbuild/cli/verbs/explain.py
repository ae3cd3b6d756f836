"""cmbuild explain"""

from __future__ import annotations

from typing import Any

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped
from cmbuild.cli.numbers import Integer
from cmbuild.pipeline.request import BuildRequest, RunRequest

EPILOG = """\b
Examples:
  cmbuild explain resnet8 --board mps2-an386 --io int8
  cmbuild explain resnet8 --board mps2-an386 --io int8 --op 3 --blocks 5
  cmbuild explain model.pte --board rp2350 --json

`cmbuild run --layers` lists the ops in the same order. Cycles are those of the
timing model of the board's core, for one inference, at zero wait states.

\b
Exit status: 0 explained; 1 cycles are not counted on this board, or the run
failed; 2 usage; 3 something is missing on this machine; 130 Ctrl-C.
"""

_MOST = 3  # blocks that a screen may have room for


@click.command(
    "explain", cls=Grouped, epilog=EPILOG, short_help="Show where the cycles of an op go."
)
@options.chosen_model
@options.of(BuildRequest)
@click.option("--op", type=Integer(1), metavar="N", help="By default the most expensive one.")
@click.option(
    "--blocks",
    type=Integer(1),
    metavar="N",
    help="Number of hot blocks to show in full; by default what a screen has room for.",
)
@options.jobs
@options.output
def command(
    *, op: int | None, blocks: int | None, as_json: bool, verbose: bool, jobs: int, **chosen: Any
) -> int:
    """Run MODEL on a simulator, and show the hot blocks of an op cycle by cycle: instruction,
    issue, stall and its reason.
    """
    from cmbuild.cli.session import session
    from cmbuild.pipeline.defaults import complete
    from cmbuild.pipeline.explaining import explain
    from cmbuild.pipeline.options import compose
    from cmbuild.pipeline.pipeline import build_folder
    from cmbuild.report.explain import ExplainReport

    named, remarks = complete(chosen)
    request = RunRequest(build=compose(BuildRequest, **named))
    folder = build_folder(request.build)
    with session(folder / "logs", json=as_json, verbose=verbose, remarks=remarks) as work:
        request = RunRequest(build=work.settled(request.build))
        run = work.pipeline.simulate(request)
        work.make([run], [folder], jobs)
        work.show(ExplainReport(explain(run, op, blocks or _MOST), everything=blocks is not None))
    return work.status
