"""cmbuild fit"""

from __future__ import annotations

from pathlib import Path

import click

from cmbuild.cli import options
from cmbuild.pipeline.request import Boundary, BuildRequest

EPILOG = """\b
Examples:
  cmbuild fit
  cmbuild fit mv2 --board rp2350 --io int8
  cmbuild fit model.pte ds_cnn --json

Programs come from the cache; --export exports missing ones. Weights and arena
are exact. Code size is estimated from the libraries in the cache, and marked if
there are none; `cmbuild build` measures it.

\b
Exit status: 0 fine; 1 a MODEL does not fit a --board, or no board if none
is named; 2 usage; 3 no exported program found; 130 Ctrl-C.
"""


@click.command(
    "fit", epilog=EPILOG, short_help="Show which models fit which boards, without building."
)
@click.argument("models", nargs=-1, shell_complete=options.complete_models)
@click.option(
    "--board",
    "-b",
    "boards",
    multiple=True,
    metavar="NAME",
    shell_complete=options.complete_boards,
    help="See `cmbuild boards`; by default all.",
)
@options.of(Boundary, only=("io",))
@click.option("--export", is_flag=True, help="Export models not yet exported.")
@options.json
def command(
    models: tuple[str, ...], boards: tuple[str, ...], io: str, export: bool, as_json: bool
) -> int:
    """Show which MODELS fit which boards, or how many bytes they are over, without building."""
    from cmbuild.cache.folders import CacheFolder
    from cmbuild.cli.session import session
    from cmbuild.pipeline.options import compose
    from cmbuild.report.fit import FitReport
    from cmbuild.sizing.fits import Fits, boards_with_memory, check
    from cmcompiler import zoo

    chosen, places = models or tuple(zoo.names()), boards_with_memory(boards)
    requests = [
        compose(BuildRequest, model=model, board=place.name, io=io, build_dir=Path())
        for model in chosen
        for place in places
    ]
    with session(CacheFolder.LOGS.path, json=as_json) as work:
        fits = Fits(work.pipeline)
        if export:
            work.perform(fits.missing(requests))
        cells = [fits.cell(request) for request in requests]
        if any(cell.need is not None for cell in cells):
            work.show(FitReport(cells))
        check(cells, models, boards)
    return work.status
