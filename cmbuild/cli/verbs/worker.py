"""cmbuild worker"""

from __future__ import annotations

from dataclasses import dataclass

import click

from cmbuild.cli import options
from cmbuild.cli.numbers import Integer

EPILOG = """\b
Examples:
  dask scheduler                                  # on one machine
  cmbuild worker tcp://build-1:8786 --workers 4   # on each
  cmbuild bench --scheduler tcp://build-1:8786

A worker does one unit of work at a time. It ends with its scheduler, or with Ctrl-C.
"""


@dataclass(frozen=True, slots=True)
class WorkerResult:
    """`cmbuild worker`, printed when its scheduler has ended."""

    scheduler: str
    workers: int


RESULT = WorkerResult


@click.command("worker", epilog=EPILOG, short_help="Work for commands with --scheduler.")
@click.argument("scheduler", metavar="tcp://HOST:PORT")
@click.option(
    "--workers",
    type=Integer(1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many, each a process.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="How the scheduler calls it, with -0, -1, ... if several; by default its address.",
)
@options.json
def command(*, scheduler: str, workers: int, name: str | None, as_json: bool) -> int:
    """Work for the scheduler at an address, with what is installed here."""
    from cmbuild.workers.choice import WorkersChoice

    WorkersChoice(scheduler=scheduler)
    from cmbuild.workers.crew import work

    # Standard output is for the one object, so addresses go elsewhere.
    work(
        scheduler, workers, name, lambda address: click.echo(f"  worker    {address}", err=as_json)
    )
    if as_json:
        from cmbuild.report.actions import Done
        from cmbuild.report.choice import reporter

        reporter(as_json).close([Done(WorkerResult(scheduler, workers))], None)
    return 0
