"""cmbuild init"""

from __future__ import annotations

from pathlib import Path

import click

from cmbuild.cli import options

EPILOG = """\b
Examples:
  cmbuild init
  cmbuild init firmware --model kws --source nets/kws.py:make --board rp2350
  cmbuild init --pyproject

Then `cmbuild run` and `cmbuild check`, in any folder of the project. Files that
exist are kept.
"""


@click.command(
    "init", epilog=EPILOG, short_help="Make a project: cmbuild.toml, a model, a test, CI."
)
@click.argument("folder", default=".", type=options.FILE, metavar="[DIR]")
@click.option(
    "--model", default="waves", show_default=True, metavar="NAME", help="The model's name."
)
@click.option(
    "--source", metavar="MODEL", help="Your model, as for `run`; by default a small one is written."
)
@click.option(
    "--board",
    "-b",
    default="rp2350",
    show_default=True,
    metavar="NAME",
    shell_complete=options.complete_boards,
    help="See `cmbuild boards`.",
)
@click.option("--pyproject", is_flag=True, help="Write to pyproject.toml instead of cmbuild.toml.")
@options.json
def command(
    *, folder: Path, model: str, source: str | None, board: str, pyproject: bool, as_json: bool
) -> int:
    """Make a project in DIR: models that have names, budgets for each board, a test that pytest
    runs, and a GitHub workflow.
    """
    from cmbuild.projects.template import make_project
    from cmbuild.report.choice import reporter
    from cmbuild.report.init import InitReport

    made = make_project(folder, model, board, source, pyproject)
    reporter(as_json).close([InitReport(made)], None)
    return 0
