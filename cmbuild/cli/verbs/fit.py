"""cmbuild fit"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped
from cmbuild.pipeline.needs import Needs
from cmbuild.pipeline.request import Boundary, BuildRequest, ModelChoice, Planning

EPILOG = """\b
Examples:
  cmbuild fit
  cmbuild fit mv2 --board rp2350 --io int8
  cmbuild fit resnet8 --board nrf52840dk --weights-as int16
  cmbuild fit mv2 --board rp2350 --weights int4 --export
  cmbuild fit mv2 --board rp2350 --io int8 --ram-curve --html mv2.html
  cmbuild fit model.pte ds_cnn --json
  cmbuild fit --export --workers 4

Programs come from the cache. Weights and arena are exact; code is estimated,
and marked where no library has been built.

\b
Exit status: 0 fine; 1 a MODEL does not fit a --board, or no board if none
is named; 2 usage; 3 no exported program found; 130 Ctrl-C.
"""


@click.command(
    "fit",
    cls=Grouped,
    epilog=EPILOG,
    short_help="Show which models fit which boards, without building.",
)
@click.argument("models", nargs=-1, shell_complete=options.complete_models)
@options.boards("See `cmbuild boards`; by default all.")
@options.of(ModelChoice, only=("seed", "weights", "calibration", "activations", "no_refinement"))
@options.of(Boundary, only=("io", "feed"))
@options.of(Planning, only=("ram_budget", "weights_as"))
@options.of(Needs)
@click.option(
    "--ram-curve", is_flag=True, help="Show how many cycles less RAM takes; needs a --board."
)
@click.option(
    "--html", type=options.FILE, metavar="FILE", help="Write --ram-curve as a page with a plot."
)
@options.force
@click.option("--export", is_flag=True, help="Export models not yet exported.")
@options.cluster
@options.everything
@options.json
def command(
    *,
    models: tuple[str, ...],
    boards: tuple[str, ...],
    ram_curve: bool,
    html: Path | None,
    force: bool,
    export: bool,
    workers: int | None,
    scheduler: str | None,
    everything: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Show which MODELS fit which boards, or how many bytes they are over, without building."""
    from cmbuild.cache.folders import CacheFolder
    from cmbuild.cli.session import session
    from cmbuild.errors import UsageError
    from cmbuild.outputs.delivery import check_delivery, deliver
    from cmbuild.pipeline.options import compose
    from cmbuild.report.fit import FitReport
    from cmbuild.report.html.curves import curves_page
    from cmbuild.sizing.curves import check_curve
    from cmbuild.sizing.fits import Fits, boards_with_memory, check
    from cmbuild.workers.choice import WorkersChoice
    from cmcompiler import zoo

    if html is not None and not ram_curve:
        raise UsageError(message="--html of fit shows --ram-curve", hint="add --ram-curve")
    check_delivery([html], force)
    cluster = WorkersChoice(workers, scheduler)
    if ram_curve:
        check_curve(models, boards, chosen["ram_budget"], on_workers=cluster.is_chosen)
    names = models or tuple(zoo.names())
    places = boards_with_memory(boards, chosen["weights_as"])
    per_model = [
        [
            compose(BuildRequest, model=model, board=place.name, build_dir=Path(), **chosen)
            for place in places
        ]
        for model in names
    ]
    with session(CacheFolder.LOGS.path, json=as_json) as work:
        per_model = [[work.settled(each) for each in requests] for requests in per_model]
        if cluster.is_chosen:
            from cmbuild.workers.fitting import fit_on_workers

            cells = fit_on_workers(
                work, per_model, places, cluster, export=export, remedied=bool(boards)
            )
        else:
            requests = [request for requests in per_model for request in requests]
            fits = Fits(work.pipeline)
            if export:
                work.make(fits.missing(requests))
            cells = [fits.cell(request) for request in requests]
            if boards:
                pairs = zip(cells, requests, strict=True)
                cells = [fits.remedied(cell, request) for cell, request in pairs]
            if ram_curve:
                pairs = zip(cells, requests, strict=True)
                cells = [fits.curved(cell, request) for cell, request in pairs]
        if any(cell.need is not None for cell in cells):
            work.show(FitReport(cells, bool(boards), everything))
            if html is not None:
                deliver({html: curves_page([cell.result for cell in cells]).encode()}, force)
        check(cells, models, boards)
    return work.status
