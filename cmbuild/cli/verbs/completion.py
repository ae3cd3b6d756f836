"""cmbuild completion"""

from __future__ import annotations

import click

EPILOG = """\b
Examples:
  eval "$(cmbuild completion bash)"                            # in ~/.bashrc
  eval "$(cmbuild completion zsh)"                             # in ~/.zshrc
  cmbuild completion fish > ~/.config/fish/completions/cmbuild.fish
"""


@click.command("completion", epilog=EPILOG, short_help="Completion for bash, zsh or fish.")
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the script that makes SHELL complete cmbuild's verbs, options, models and boards."""
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None
    group = context.find_root().command
    click.echo(script(group, {}, "cmbuild", "_CMBUILD_COMPLETE").source())
    return 0
