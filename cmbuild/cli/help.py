"""Help in groups: what matters first in full, the rest by name, and all of it on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from cmbuild import paths

_MOST_PLAIN = 12
"""Commands with no more options show them all."""

FIRST = (
    "model",
    "board",
    "boards",
    "samples",
    "inputs",
    "form",
    "io",
    "html",
    "target",
    "port",
    "as_json",
)
"""Options by field, the most important first; help shows the first four that a command has."""

_FEW = 4

SECTIONS: Mapping[str, Sequence[str]] = {
    "Model": (
        "weights",
        "calibration",
        "seed",
        "activations",
        "no_refinement",
        "portable",
        "keep_state",
        "method",
    ),
    "Samples": ("samples", "inputs", "output_dir", "reset", "data", "until"),
    "Board": ("board", "isa", "toolchain", "target", "launcher", "timeout"),
    "Inputs and outputs": ("io", "feed"),
    "Precision by need": ("snr", "accuracy_drop", "flash_budget"),
    "Memory and speed": ("no_streams", "ram_budget", "ram_curve", "weights_as", "hot"),
    "Limits": (),
    "Real boards": ("on", "volume", "probe", "port", "flash_method", "dry_run"),
    "Reports": ("layers", "html", "markdown", "junit", "as_json", "verbose"),
    "ExecuTorch's runtime": ("executor", "executorch_root"),
    "Work": ("jobs", "workers", "scheduler", "build_dir", "intermediates", "force"),
}
"""Options by field, limits by how they begin; whatever is left is shown as `More`."""

_LIMITS = ("--max-", "--min-")


class Grouped(click.Command):
    """A command with more options than a screen has room for."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        every = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Describe every option.",
        )
        if len(self.params) > _MOST_PLAIN:
            self.params.append(every)

    def get_help(self, ctx: click.Context) -> str:
        return paths.with_documents(super().get_help(ctx))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if len(self.params) <= _MOST_PLAIN:
            super().format_options(ctx, formatter)
            return
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        named = {str(each.name): each for each in options}
        is_whole = ctx.meta.get(_WHOLE, False)
        if not is_whole:
            first = [name for name in FIRST if name in named][:_FEW]
            _write(ctx, formatter, "Options", [named.pop(name) for name in first])
            formatter.write_paragraph()
        for title, members in _sections(named):
            if is_whole:
                _write(ctx, formatter, title, members)
            else:
                names = ", ".join(each.opts[0] for each in members)
                formatter.write_text(f"{title}: {names}")
        if not is_whole:
            formatter.write_paragraph()
            formatter.write_text(f"`{ctx.command_path} --help-all` describes them.")


_WHOLE = "cmbuild.cli.help"


def _show_all(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        context.meta[_WHOLE] = True
        click.echo(context.get_help())
        context.exit()


def _sections(named: Mapping[str, click.Option]) -> Iterator[tuple[str, list[click.Option]]]:
    """Sections of the options that are left, those in none of them last."""
    rest = dict(named)
    for title, names in SECTIONS.items():
        limits = [name for name, each in rest.items() if each.opts[0].startswith(_LIMITS)]
        wanted = limits if title == "Limits" else names
        members = [rest.pop(name) for name in wanted if name in rest]
        if members:
            yield title, list(members)
    more = [each for each in rest.values() if not {"--help", "--help-all"} & {*each.opts}]
    if more:
        yield "More", list(more)


def _write(
    context: click.Context,
    formatter: click.HelpFormatter,
    title: str,
    members: Sequence[click.Option],
) -> None:
    records = [record for each in members if (record := each.get_help_record(context))]
    with formatter.section(title):
        formatter.write_dl(records)
