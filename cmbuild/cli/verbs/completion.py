"""cmbuild completion"""

from __future__ import annotations

from dataclasses import dataclass

import click

from cmbuild.cli import options

EPILOG = """\b
Examples:
  eval "$(cmbuild completion bash)"                            # in ~/.bashrc
  eval "$(cmbuild completion zsh)"                             # in ~/.zshrc
  cmbuild completion fish > ~/.config/fish/completions/cmbuild.fish
"""


@dataclass(frozen=True, slots=True)
class CompletionResult:
    """`cmbuild completion`."""

    shell: str
    script: str


RESULT = CompletionResult


@click.command("completion", epilog=EPILOG, short_help="Completion for bash, zsh or fish.")
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@options.json
@click.pass_context
def command(context: click.Context, shell: str, as_json: bool) -> int:
    """Print the script that makes SHELL complete cmbuild's verbs, options and their values.

    The same goes for a checkout's ./cmbuildw.
    """
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    assert complete is not None
    group = context.find_root().command
    scripts = []
    for name in ("cmbuild", "cmbuildw"):
        script = complete(group, {}, name, "_CMBUILD_COMPLETE").source()
        script = _with_files(script) if shell == "bash" else script
        scripts.append(script if name == "cmbuild" else _as_typed(script, shell, name))
    if as_json:
        from cmbuild.report.actions import Done
        from cmbuild.report.choice import reporter

        whole = CompletionResult(shell, "\n".join(scripts))
        reporter(as_json).close([Done(whole)], None)
        return 0
    for script in scripts:
        click.echo(script)
    return 0


_ONLY_FILES = """\
            COMPREPLY=()
            compopt -o default
"""
_FILES_TOO = """\
            compopt -o filenames
            COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
"""


def _with_files(script: str) -> str:
    """A script for bash that offers files beside names; click's drops the names."""
    return script.replace(_ONLY_FILES, _FILES_TOO)


def _as_typed(script: str, shell: str, name: str) -> str:
    """A script that starts a program where the user did, which need not be on PATH."""
    if shell == "zsh":
        absent = f"    (( ! $+commands[{name}] )) && return 1\n"
        return script.replace(absent, "").replace(f"_complete {name})", "_complete ${words[1]})")
    if shell == "fish":
        typed = "(commandline -opc)[1]"
        return script.replace(f"(commandline -t) {name})", f"(commandline -t) {typed})")
    return script  # bash passes the word that was typed
