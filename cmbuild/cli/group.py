"""The group of all verbs: a module of this package for each, found by its name."""

from __future__ import annotations

import pkgutil
import textwrap
from importlib import import_module

import click

from cmbuild.errors import UnknownName

PACKAGE = "cmbuild.cli.verbs"

LAST = "Projects and machines"

GROUPS = {
    "Start": ("run", "fit", "models", "boards", "doctor"),
    "Firmware": (
        *("build", "export", "package", "flash", "monitor", "debug", "zephyr", "new", "chips"),
    ),
    "Understand": ("eval", "explain", "compare", "bench", "conformance"),
    LAST: ("init", "check", "clean", "worker", "schema", "completion"),
}
"""Commands as help shows them; others come last."""


class Verbs(click.Group):
    """Imports a verb's module only when it is needed; each has a `command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        folder = import_module(PACKAGE).__path__
        return sorted([module.name for module in pkgutil.iter_modules(folder)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command = import_module(f"{PACKAGE}.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Commands in groups; the few options of the group itself in a line."""
        known = self.list_commands(ctx)
        grouped = {name for names in GROUPS.values() for name in names}
        rest = [name for name in known if name not in grouped]
        width = max(map(len, known))
        formatter.write_paragraph()
        for title, names in GROUPS.items():
            members = [*(name for name in names if name in known), *(rest if title == LAST else ())]
            formatter.write(f"{title}:\n")
            for name in members:
                command = self.get_command(ctx, name)
                assert command is not None
                start = f"  {name:<{width}}  "
                formatter.write(
                    textwrap.fill(
                        command.get_short_help_str(62),
                        formatter.width,
                        initial_indent=start,
                        subsequent_indent=" " * len(start),
                    )
                )
                formatter.write("\n")
        flags = ", ".join(each.opts[-1] for each in self.get_params(ctx))
        formatter.write_paragraph()
        formatter.write_text(f"Options: {flags}; more: `cmbuild COMMAND --help`")

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
