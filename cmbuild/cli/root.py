"""The command line: a face on the task graph, with one module per verb."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import click

from cmbuild import paths
from cmbuild.cli.group import Verbs
from cmbuild.errors import CmbuildError, ExitCode, UsageError
from cmbuild.files import check_utf8
from cmbuild.report.stream import prepare_streams
from cmcompiler.suggest import did_you_mean

EXAMPLES = """\b
Examples:
  cmbuild run mv2 --board corstone300
  cmbuild run net.py:make --board native -n 100
  cmbuild run model.tflite --board mps2-an386
"""


def _options(command: click.Command) -> list[str]:
    return [name for option in command.params for name in option.opts if name.startswith("--")]


def _print_versions(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if not asked:
        return
    from cmbuild.toolchain.versions import all_versions

    for name, version in all_versions().items():
        click.echo(f"{name} {version}")
    context.exit()


@click.group(
    cls=Verbs,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_versions,
    help="Show the versions of cmbuild and its dependencies.",
)
@click.option(
    "--remote-cache",
    type=click.Choice(["read", "write", "off"]),
    help="Use of the cache at $CMBUILD_REMOTE_CACHE; by default write: read and fill it.",
)
def cli(remote_cache: str | None) -> None:
    """From a PyTorch model to verified Cortex-M firmware."""


def run(words: Sequence[str]) -> int:
    """Runs a command; however it ends, the exit code is one of cmbuild.errors."""
    prepare_streams()
    if not sys.warnoptions:
        # They are for programmers; packages would print theirs between our lines.
        warnings.simplefilter("ignore")
    try:
        _check_places(words)
        status = cli.main(list(words), prog_name="cmbuild", standalone_mode=False)
    except SystemExit as end:
        return int(end.code or 0)
    except click.Abort:  # what click makes of KeyboardInterrupt
        return _report(KeyboardInterrupt(), words)
    except (Exception, KeyboardInterrupt) as error:
        return _report(error, words)
    return status if isinstance(status, int) else ExitCode.FINE


def _check_places(words: Sequence[str]) -> None:
    """Raises UsageError for what would fail everywhere, each time in its own way: a working folder
    that was removed, and names that are not text.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:
        hint = "cd to another folder"
        raise UsageError(message="the working folder no longer exists", hint=hint) from None
    check_utf8(*words, here, paths.cache())


def _report(error: BaseException, words: Sequence[str]) -> int:
    from cmbuild.pipeline.failures import explain
    from cmbuild.report.choice import reporter

    failure = _usage(error, words) if isinstance(error, click.ClickException) else explain(error)
    reporter("--json" in words).close([], failure)
    return failure.exit_code


def _usage(error: click.ClickException, words: Sequence[str]) -> CmbuildError:
    """A click error as an error of cmbuild."""
    context = getattr(error, "ctx", None)
    # An option without its argument comes without a context.
    verb = next((each for each in words if each in cli.list_commands(click.Context(cli))), None)
    path = context.command_path if context else " ".join(filter(None, ("cmbuild", verb)))
    hint = f"`{path} --help`"
    if isinstance(error, click.NoSuchOption):
        message = f"no such option: {error.option_name}"
        if context is not None and error.possibilities:
            hint = did_you_mean(error.option_name, _options(context.command))
    else:
        message = error.format_message().rstrip(".")
        message = message[:1].lower() + message[1:]
    return UsageError(message=message, hint=hint)
