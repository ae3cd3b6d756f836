"""cmbuild clean"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from cmbuild.cli import options

EPILOG = """\b
Examples:
  cmbuild clean                             # all builds in ./build
  cmbuild clean mv2 --board corstone300     # one
  cmbuild clean --cache                     # exports and libraries of this user
"""


@dataclass(frozen=True, slots=True)
class CleanResult:
    """`cmbuild clean`."""

    removed: tuple[Path, ...]


RESULT = CleanResult


@click.command("clean", epilog=EPILOG, short_help="Remove what was built.")
@click.argument("model", required=False, shell_complete=options.complete_models)
@click.option("--board", "-b", metavar="NAME", help="Only this board's builds.")
@click.option("--cache", is_flag=True, help="Exports, libraries and references instead of builds.")
@options.build_dir
@options.json
def command(
    *, model: str | None, board: str | None, cache: bool, build_dir: Path, as_json: bool
) -> int:
    """Remove all builds, or those of MODEL. Everything removed can be rebuilt.
    Files that others put beside it stay.

    Waits for other commands that are building in these folders.
    """
    from cmbuild.cache.cleaning import clean_builds, clean_cache
    from cmbuild.errors import UsageError
    from cmbuild.pipeline.stages.stage import StageKind
    from cmbuild.report.actions import Done
    from cmbuild.report.choice import reporter

    report = reporter(as_json)
    if cache:
        if model or board:
            raise UsageError(message="--cache is shared by all models and boards")
        removed = clean_cache(report.note)
    else:
        stages = {kind.label for kind in StageKind}
        removed = clean_builds(build_dir, model, board, stages, report.note)
    if as_json:
        report.close([Done(CleanResult(tuple(removed)))], None)
    return 0
