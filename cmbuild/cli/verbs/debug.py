"""cmbuild debug"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped
from cmbuild.cli.numbers import Integer
from cmbuild.pipeline.request import HARDWARE, SIMULATOR, RunRequest

EPILOG = """\b
Examples:
  cmbuild debug mv2 --board corstone300
  cmbuild debug model.pte --board rp2350 --gdb-port 3333 --no-gdb
  cmbuild debug mlp --board rp2350 --on hardware --method openocd

The image waits before its first instruction. It ends when gdb does; without
gdb, when the connected debugger kills it, or with Ctrl-C.

\b
Exit status: 0 the session ended; 1 it could not be built or started;
2 usage, or a launcher without a gdb server; 3 something is missing; 130 Ctrl-C.
"""


@dataclass(frozen=True, slots=True)
class DebugResult:
    """`cmbuild debug`, printed once the image waits; `gdb` is the command that attaches."""

    machine: str
    address: str
    image: Path
    gdb: tuple[str, ...]


RESULT = DebugResult


@click.command("debug", cls=Grouped, epilog=EPILOG, short_help="Run a model's image under gdb.")
@options.chosen_model
@options.firmware
@options.of(
    RunRequest,
    only=("launcher", "on", "flash_method", "probe"),
    launcher={"help": "By default the first with a gdb server."},
    on={
        "help": "hardware: a real board, through a debug probe.",
        "type": click.Choice((SIMULATOR, HARDWARE)),
        "metavar": None,
    },
    flash_method={
        "flags": ("--method",),
        "help": "Of a real board, as for `cmbuild flash`; by default the first with a gdb server.",
    },
)
@click.option("--gdb", metavar="PROGRAM", help="By default arm-none-eabi-gdb or gdb-multiarch.")
@click.option("--no-gdb", is_flag=True, help="Wait for another debugger, such as VS Code's.")
@click.option(
    "--gdb-port",
    type=Integer(1, 65535),
    metavar="PORT",
    help="Port of the gdb server; by default any free one.",
)
@options.jobs
@options.output
def command(
    *,
    launcher: str | None,
    gdb: str | None,
    no_gdb: bool,
    gdb_port: int | None,
    jobs: int,
    as_json: bool,
    verbose: bool,
    **chosen: Any,
) -> int:
    """Build MODEL for a board, load the image into a simulator or onto a real board, and attach
    gdb if it is installed. Prints what VS Code needs to attach; --json implies --no-gdb.
    """
    from cmbuild.catalog import find_board
    from cmbuild.cli.session import session
    from cmbuild.hardware.method import Selection
    from cmbuild.hardware.probe.server import free_port
    from cmbuild.pipeline.debugger import (
        debug,
        find_gdb,
        launcher_with_server,
        probe,
        simulator,
    )
    from cmbuild.pipeline.defaults import complete
    from cmbuild.pipeline.options import compose
    from cmbuild.pipeline.pipeline import build_folder
    from cmbuild.report.actions import Done
    from cmbuild.report.debug import server_lines
    from cmbuild.toolchain import tools

    named, remarks = complete(chosen)
    request = compose(RunRequest, **named)
    method = request.flashing.flash_method
    board, port = find_board(request.build.place.board), gdb_port or free_port()
    selection = Selection(probe=request.flashing.probe)
    program = None if no_gdb or as_json else find_gdb(gdb)
    folder = build_folder(request.build)
    is_real = request.on == HARDWARE
    if is_real:
        # Fails at once if gdb is not installed.
        probe(board, folder, method, selection, port)
    else:
        place = launcher_with_server(board, launcher)
    # One session: its lock keeps other builds from replacing the image while gdb runs.
    with session(folder / "logs", json=as_json, verbose=verbose, remarks=remarks) as work:
        request = replace(request, build=work.settled(request.build))
        run = work.pipeline.simulate(request)
        runner = run.runner
        work.make([runner, run.reference], [folder], jobs)
        if is_real:
            server = probe(board, runner.image, method, selection, port)
        else:
            server = simulator(place, runner, run.reference, folder / "debug", port)

        def tell() -> None:
            if as_json:
                told = DebugResult(
                    machine=server.machine,
                    address=server.address,
                    image=server.image,
                    gdb=tuple(server.gdb(tools.GDB.name)),
                )
                click.echo(Done(told).document(()).model_dump_json(indent=2))
                return
            for line in server_lines(server, has_gdb=program is not None):
                work.note(line)

        debug(work.processes, server, folder / "logs" / "debug.txt", program, started=tell)
    return work.status
