"""Options of verbs, made from the requests that they fill."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from cmbuild.cli.numbers import Integer, PositiveNumber
from cmbuild.files import check_output_folder
from cmbuild.pipeline.options import Option, Spelling, options
from cmbuild.pipeline.request import FORCE, BuildRequest

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)


class OutputFolder(click.Path):
    """A folder, created if missing."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        folder = Path(str(super().convert(value, param, ctx)))
        check_output_folder(folder)
        return folder


OUTPUT_FOLDER = OutputFolder()


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several decorators as one; their options are listed in this order."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def complete_models(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from cmbuild.errors import CmbuildError
    from cmbuild.projects.project import find_project
    from cmcompiler import zoo

    own: Iterable[str] = ()
    with suppress(CmbuildError):
        own = find_project().models
    names = sorted(name for name in {*own, *zoo.names()} if name.startswith(incomplete))
    return [*map(CompletionItem, names), CompletionItem(incomplete, type="file")]


def complete_boards(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from cmbuild.boards.registry import board_folders

    return [CompletionItem(name) for name in board_folders() if name.startswith(incomplete)]


def complete_cores(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from cmcompiler.target import BEST_ISA

    return [CompletionItem(name) for name in BEST_ISA if name.startswith(incomplete)]


def complete_toolchains(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from cmbuild.toolchain.toolchains import TOOLCHAINS

    return [CompletionItem(name) for name in TOOLCHAINS if name.startswith(incomplete)]


def complete_isas(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from cmcompiler.isa import Isa

    return [CompletionItem(isa.label) for isa in Isa if isa.label.startswith(incomplete)]


_COMPLETE = {
    "board": complete_boards,
    "isa": complete_isas,
    "target": complete_cores,
    "toolchain": complete_toolchains,
}
"""Values of options, by field."""

model = click.argument("model", shell_complete=complete_models)

chosen_model = click.argument("model", required=False, shell_complete=complete_models)
"""By default see cmbuild.pipeline.defaults."""


def of(
    request: type, only: Sequence[str] = (), without: Sequence[str] = (), **changes: dict[str, Any]
) -> Callable[[F], F]:
    """The options of a request.

    Args:
        only: these fields, if there are any.
        without: all others.
        changes: by field, what differs for a verb: keywords of click.option, and `flags`.
    """
    return together(
        *[
            _option(option, option.spelling, **changes.get(option.field, {}))
            for option in options(request)
            if option.spelling is not None
            and option.field not in without
            and option.field in (only or (option.field,))
        ]
    )


def _option(
    option: Option, spelling: Spelling, *, flags: Sequence[str] = (), **changes: Any
) -> Callable[[F], F]:
    flags = flags or (f"--{option.name.replace('_', '-')}", *spelling.flags)
    keywords: dict[str, Any] = {"help": spelling.help}
    if option.kind is bool:
        keywords["is_flag"] = True
    else:
        keywords["type"] = _type(option, spelling)
        keywords["metavar"], keywords["show_default"] = spelling.metavar, spelling.shown
        if option.is_multiple:
            keywords["multiple"] = True
        elif option.field in _COMPLETE:
            keywords["shell_complete"] = _COMPLETE[option.field]
    if option.default is not None:  # None would count as the value of a required option
        keywords.setdefault("default", option.default)
    return click.option(*flags, option.field, **keywords | changes)


def _type(option: Option, spelling: Spelling) -> Any:
    if spelling.choices:
        return click.Choice(spelling.choices)
    if option.kind is Path:
        return OUTPUT_FOLDER if spelling.is_output else FILE
    if option.kind is float:  # a time or a level
        return PositiveNumber()
    if spelling.least is None:
        return option.kind
    return Integer(spelling.least, words=spelling.words)


def boards(help: str) -> Callable[[F], F]:
    """`--board`, as often as wanted."""
    return click.option(
        "--board",
        "-b",
        "boards",
        multiple=True,
        metavar="NAME",
        shell_complete=complete_boards,
        help=help,
    )


build_dir = of(BuildRequest, only=("build_dir",))

firmware = of(BuildRequest, method={"flags": ("--program-method",)})
"""As of(BuildRequest), for verbs whose `--method` is something else."""

everything = click.option(
    "--all", "everything", is_flag=True, help="List everything, not what a screen holds."
)

json = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on standard output."
)

force = click.option("--force", is_flag=True, help=FORCE)

verbose = click.option("--verbose", "-v", is_flag=True, help="Print the commands as they run.")

output = together(json, verbose)

cluster = together(
    click.option("--workers", type=Integer(1), metavar="N", help="Work in N processes here."),
    click.option(
        "--scheduler",
        metavar="URL",
        help="Work on the cluster of a Dask scheduler: tcp://HOST:8786.",
    ),
)
"""See `cmbuild worker`."""

jobs = click.option(
    "--jobs",
    "-j",
    type=Integer(1),
    default=lambda: min(os.cpu_count() or 1, 8),
    show_default="one a core",
    metavar="N",
    help="Number of parallel steps.",
)
