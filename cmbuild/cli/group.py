"""The group of all verbs: a module of this package for each, found by its name."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import click

from cmbuild.errors import UnknownName

PACKAGE = "cmbuild.cli.verbs"


class Verbs(click.Group):
    """Imports a verb's module only when it is needed; each has a `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        folder = import_module(PACKAGE).__path__
        return sorted(module.name for module in pkgutil.iter_modules(folder))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = import_module(f"{PACKAGE}.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if (
            args
            and not args[0].startswith("-")
            and args[0] not in known
            and not ctx.resilient_parsing
        ):
            raise UnknownName(kind="command", name=args[0], known=known)
        return super().resolve_command(ctx, args)
