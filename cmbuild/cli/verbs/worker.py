"""cmbuild worker"""

from __future__ import annotations

import click

EPILOG = """\b
Examples:
  dask scheduler                                  # on one machine
  cmbuild worker tcp://build-1:8786               # on each, once for each core
  cmbuild bench --scheduler tcp://build-1:8786

A worker does one unit of work at a time. It ends with its scheduler, or with Ctrl-C.
"""


@click.command("worker", epilog=EPILOG, short_help="Work for commands with --scheduler.")
@click.argument("scheduler", metavar="tcp://HOST:PORT")
@click.option("--name", metavar="NAME", help="How the scheduler calls it; by default its address.")
def command(scheduler: str, name: str | None) -> int:
    """Work for the scheduler at an address, with what is installed here."""
    import asyncio

    from cmbuild.workers.cluster import ClusterChoice, NoScheduler, quieten

    ClusterChoice(scheduler=scheduler)
    from cmbuild.workers.site import serve

    quieten()
    try:
        asyncio.run(serve(scheduler, name, lambda address: click.echo(f"  worker    {address}")))
    except (OSError, TimeoutError) as error:
        raise NoScheduler(address=scheduler) from error
    return 0
