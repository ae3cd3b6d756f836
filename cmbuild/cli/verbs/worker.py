"""cmbuild worker"""

from __future__ import annotations

import click

EPILOG = """\b
Examples:
  dask scheduler                                  # on one machine
  cmbuild worker tcp://build-1:8786 --workers 4   # on each
  cmbuild bench --scheduler tcp://build-1:8786

A worker does one unit of work at a time. It ends with its scheduler, or with Ctrl-C.
"""


@click.command("worker", epilog=EPILOG, short_help="Work for commands with --scheduler.")
@click.argument("scheduler", metavar="tcp://HOST:PORT")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
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
def command(scheduler: str, workers: int, name: str | None) -> int:
    """Work for the scheduler at an address, with what is installed here."""
    from cmbuild.workers.choice import WorkersChoice

    WorkersChoice(scheduler=scheduler)
    from cmbuild.workers.crew import work

    work(scheduler, workers, name, lambda address: click.echo(f"  worker    {address}"))
    return 0
