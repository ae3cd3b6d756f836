"""Options that several verbs share, and the requests that they make."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from cmbuild import paths
from cmbuild.discovery import listed, names
from cmbuild.files import check_output_folder
from cmbuild.launchers import simulators
from cmbuild.toolchain.toolchains import CROSS

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)


class OutputFolder(click.Path):
    """A folder to be made, if there is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        folder = Path(str(super().convert(value, param, ctx)))
        check_output_folder(folder)
        return folder


OUTPUT_FOLDER = OutputFolder()


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """One decorator of several, whose options are listed in this order."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def complete_models(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from cmcompiler import zoo

    names = [CompletionItem(name) for name in zoo.names() if name.startswith(incomplete)]
    return [*names, CompletionItem(incomplete, type="file")]


def complete_boards(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from cmbuild.boards.registry import board_folders

    return [CompletionItem(name) for name in board_folders() if name.startswith(incomplete)]


model = click.argument("model", shell_complete=complete_models)

chosen_model = click.argument("model", required=False, shell_complete=complete_models)
"""By default see cmbuild.pipeline.defaults."""


def _board(required: bool, help: str) -> Callable[[F], F]:
    return click.option(
        "--board",
        "-b",
        required=required,
        metavar="NAME",
        shell_complete=complete_boards,
        help=help,
    )


board = _board(True, "See `cmbuild boards`.")

export = together(
    click.option(
        "--seed", type=int, default=0, help="Seed for random weights, training and inputs."
    ),
    click.option("--weights", type=FILE, metavar="FILE", help="Load this state dict."),
    click.option(
        "--calibration",
        type=FILE,
        metavar="PATH",
        help="Calibrate with this .npy, .npz or .pt file, or a folder of them.",
    ),
)

toolchain = click.option(
    "--toolchain",
    metavar="NAME",
    help=f"{listed(CROSS)}; by default the board's own.",
)

launcher = click.option(
    "--launcher",
    metavar="NAME",
    help=f"{listed(names(simulators))}; by default the best available.",
)

build_dir = click.option(
    "--build-dir",
    type=FILE,
    default=paths.default_build,
    metavar="DIR",
    show_default="build",
    help="Folder for firmware and results.",
)


def _method(name: str) -> Callable[[F], F]:
    """
    Args:
        name: of the option.
    """
    return click.option(name, "method", default="forward", metavar="NAME", help="Of the program.")


method = _method("--method")

io = click.option(
    "--io",
    type=click.Choice(["program", "int8"]),
    default="program",
    help="int8: omit quantize and dequantize at inputs and outputs.",
)

executorch_root = click.option(
    "--executorch-root",
    type=FILE,
    metavar="DIR",
    help="ExecuTorch's checkout; by default $EXECUTORCH_ROOT.",
)


def _build(method: str) -> Callable[[F], F]:
    """
    Args:
        method: name of the option for the program's method.
    """
    return together(
        _board(False, "See `cmbuild boards`; by default the project's."),
        export,
        click.option(
            "--isa",
            metavar="ISA",
            help="Use a lower one than the board's best: scalar, dsp or mve.",
        ),
        toolchain,
        _method(method),
        io,
        click.option(
            "--executor",
            type=click.Choice(["static", "executorch"]),
            default="static",
            help="executorch: ExecuTorch's own runtime.",
        ),
        executorch_root,
        build_dir,
    )


build = _build("--method")

firmware = _build("--program-method")
"""As `build`, where `--method` is something else."""


def timeout(help: str) -> Callable[[F], F]:
    """The option for a limit of time."""
    return click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help=help,
    )


def place(help: str) -> Callable[[F], F]:
    """The option for where an image runs."""
    return click.option(
        "--on", type=click.Choice(["simulator", "hardware"]), default="simulator", help=help
    )


real_board = together(
    click.option(
        "--volume",
        type=FILE,
        metavar="DIR",
        help="The boot loader's volume, if there are several boards.",
    ),
    click.option("--probe", metavar="ID", help="The debug probe, if there are several."),
    click.option("--port", metavar="PORT", help="The serial port, if there are several."),
)

json = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on standard output."
)

output = together(
    json,
    click.option("--verbose", "-v", is_flag=True, help="Print the commands that are run."),
)

jobs = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(min=1),
    default=lambda: min(os.cpu_count() or 1, 8),
    show_default="one a core",
    metavar="N",
    help="Steps to run at once.",
)
