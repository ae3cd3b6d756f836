"""cmbuild new"""

from __future__ import annotations

from pathlib import Path

import click

from cmbuild.cli import options

EPILOG = """\b
Example:
  cmbuild new board mine --cpu cortex-m4 \\
      --flash 0x08000000:1M --ram 0x20000000:256K
  cmbuild run mlp --board mine

Simulated by a machine of QEMU that has the core and the memory, or by Unicorn.
"""


@click.group(
    "new",
    epilog=EPILOG,
    invoke_without_command=True,
    short_help="Create a board of your own.",
)
@click.pass_context
def command(context: click.Context) -> None:
    """Create something of your own."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command.command("board", epilog=EPILOG)
@click.argument("name")
@click.option("--cpu", required=True, metavar="CORE", help="cortex-m0 to cortex-m85.")
@click.option("--flash", required=True, metavar="ORIGIN:SIZE", help="As 0x08000000:1M.")
@click.option("--ram", required=True, metavar="ORIGIN:SIZE", help="As 0x20000000:256K.")
@click.option("--fpu", metavar="KIND", help="double, single or none; by default the core's best.")
@click.option(
    "--dir",
    "place",
    type=options.FILE,
    default="boards",
    show_default=True,
    metavar="DIR",
    help="Parent of the folder NAME; cmbuild searches ./boards and CMBUILD_BOARD_PATH.",
)
def board(*, name: str, cpu: str, flash: str, ram: str, fpu: str | None, place: Path) -> int:
    """Write a folder for a board, ready to build firmware for.

    The files are yours to change; docs/boards.md describes them.
    """
    from cmbuild.boards.memory import Memory
    from cmbuild.boards.template import make_board, parse_memory
    from cmbuild.catalog import readable_boards
    from cmbuild.launchers.matching import launcher_tables

    regions = parse_memory(Memory.FLASH, flash), parse_memory(Memory.RAM, ram)
    tables = launcher_tables(cpu, regions, readable_boards())
    folder = make_board(
        name, place, cpu=cpu, fpu=fpu, flash=regions[0], ram=regions[1], launchers=tables
    )
    for path in sorted(folder.iterdir()):
        click.echo(f"  wrote     {path}")
    click.echo(f"  try       cmbuild {'run' if tables else 'build'} mlp --board {name}")
    return 0
