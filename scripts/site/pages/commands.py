"""Commands and their options, from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cmbuild.cli.root import cli
from pages.tables import table


def page() -> str:
    context = click.Context(cli, info_name="cmbuild")
    parts = ["# Commands and options\n", *_options(cli)]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        parts += _command(command, f"cmbuild {name}", 2)
    return "\n".join(parts)


def _command(command: click.Command, name: str, level: int) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    yield f"{'#' * level} {name}\n"
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```\n"
    yield " ".join((command.help or command.get_short_help_str(200)).split()) + "\n"
    yield from _options(command)
    if command.epilog:
        yield f"```text\n{command.epilog.replace(chr(8), '').strip()}\n```\n"
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            assert inner is not None
            yield from _command(inner, f"{name} {each}", level + 1)


def _options(command: click.Command) -> Iterator[str]:
    rows = []
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            record = option.get_help_record(click.Context(command))
            if record is not None:
                rows.append([f"`{record[0]}`", record[1]])
    if rows:
        yield table(["option", "meaning"], rows)
