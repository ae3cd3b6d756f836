"""cmbuild new"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped

if TYPE_CHECKING:
    from cmbuild.boards.board import Board

EPILOG = """\b
Examples:
  cmbuild new board mine --chip STM32F411RE --clock 100M
  cmbuild new board mine --cpu cortex-m4 \\
      --flash 0x08000000:1M --ram 0x20000000:256K
  cmbuild run mlp --board mine

Simulated by a machine of QEMU that has the core and the memory, or by Unicorn.
"""


@dataclass(frozen=True, slots=True)
class NewResult:
    """`cmbuild new board`."""

    board: str
    folder: Path
    written: tuple[Path, ...]


RESULT = NewResult


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


def _for_editors(place: Path, board: Board) -> Iterator[Path]:
    """Writes the files of an editor that are missing beside the folder of boards."""
    from cmbuild.errors import CmbuildError
    from cmbuild.files import write
    from cmbuild.firmware.compile_commands import FILE
    from cmbuild.projects.editor import editor_files
    from cmbuild.projects.project import find_project

    if place.name != "boards":
        return
    names: list[str] = []
    with suppress(CmbuildError):
        names = list(find_project().models)
    model = names[0] if names else "mlp"
    for path, text in editor_files(place.parent, model, board, is_project=bool(names)).items():
        if path.name == FILE or not path.exists():
            write(path, text)
            yield path


@command.command("board", cls=Grouped, epilog=EPILOG)
@click.argument("name")
@click.option("--chip", metavar="CHIP", help="Core and memory: `cmbuild chips` lists the names.")
@click.option("--cpu", metavar="CORE", help="cortex-m0 to cortex-m85.")
@click.option("--flash", metavar="ORIGIN:SIZE", help="As 0x08000000:1M.")
@click.option("--ram", metavar="ORIGIN:SIZE", help="As 0x20000000:256K.")
@click.option("--fpu", metavar="KIND", help="double, single or none; by default the core's best.")
@click.option("--clock", metavar="HERTZ", help="Of the core, as 100M: turns cycles into ms.")
@click.option(
    "--dir",
    "place",
    type=options.FILE,
    default="boards",
    show_default=True,
    metavar="DIR",
    help="Parent of the folder NAME; cmbuild searches ./boards and CMBUILD_BOARD_PATH.",
)
@options.json
def board(
    *,
    as_json: bool,
    name: str,
    chip: str | None,
    cpu: str | None,
    flash: str | None,
    ram: str | None,
    fpu: str | None,
    clock: str | None,
    place: Path,
) -> int:
    """Write a folder for a board, ready to build firmware for.

    Give the chip's name, or core, flash and RAM. The files are yours to change;
    docs/boards.md describes them.
    """
    from cmbuild.boards.memory import Memory
    from cmbuild.boards.template import make_board, parse_hertz, parse_memory
    from cmbuild.catalog import read_board, shipped_boards
    from cmbuild.chips.board import chip_board
    from cmbuild.chips.table import find_chip
    from cmbuild.launchers.matching import launcher_tables
    from cmbuild.launchers.registry import launchers_of
    from cmbuild.report.actions import Done
    from cmbuild.report.choice import reporter

    rom = None if flash is None else parse_memory(Memory.FLASH, flash)
    memory = None if ram is None else parse_memory(Memory.RAM, ram)
    hertz = None if clock is None else parse_hertz(clock)
    boards = shipped_boards()
    if chip is not None:
        if cpu is not None:
            raise click.UsageError("--chip says which core it is: leave out --cpu")
        folder = chip_board(
            name, place, find_chip(chip), boards, flash=rom, ram=memory, fpu=fpu, hertz=hertz
        )
    elif cpu is None or rom is None or memory is None:
        raise click.UsageError("needs --chip, or --cpu, --flash and --ram")
    else:
        tables = launcher_tables(cpu, (rom, memory), boards)
        folder = make_board(
            name, place, cpu=cpu, fpu=fpu, flash=rom, ram=memory, hertz=hertz, launchers=tables
        )
    made = read_board(folder)
    verb = "run" if launchers_of(made) else "build"
    written = (*sorted(folder.iterdir()), *_for_editors(place, made))
    lines = [
        *(f"  wrote     {path}" for path in written),
        f"  try       cmbuild {verb} mlp --board {name}",
    ]
    told = NewResult(name, folder, written)
    reporter(as_json).close([Done(told, "\n".join(lines))], None)
    return 0
