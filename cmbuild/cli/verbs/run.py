"""cmbuild run"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped
from cmbuild.pipeline.request import RunRequest

EPILOG = """\b
Examples:
  cmbuild run mv2 --board corstone300
  cmbuild run mv2 --board corstone300 --input dog.jpg --output-dir out
  cmbuild run mlp --board rp2350 --on hardware
  cmbuild run mv2 --board rp2350 --io int8 --layers --html mv2.html

MODEL: a name of `cmbuild models`, path.py[:callable], path.pt2, path.pte or
path.tflite. Without --input, programs run on seeded random samples.

\b
Exit status: 0 verified; 1 failed: mismatch, fault, does not fit;
2 usage or unreadable input; 3 something is missing on this machine; 130 Ctrl-C.
"""


@click.command(
    "run",
    cls=Grouped,
    epilog=EPILOG,
    short_help="Export, build and run a model, and verify its outputs.",
)
@options.chosen_model
@options.of(RunRequest, without=("dry_run",))
@click.option("--layers", is_flag=True, help="Show each layer under its module's own name.")
@click.option(
    "--html", type=options.FILE, metavar="FILE", help="Write a report with pictures, for a browser."
)
@options.jobs
@options.output
def command(
    *, layers: bool, html: Path | None, as_json: bool, verbose: bool, jobs: int, **chosen: Any
) -> int:
    """Export, plan, build and run MODEL on a board, and compare its outputs bit by bit with the
    reference.
    """
    from cmbuild.cli.session import session
    from cmbuild.outputs.delivery import check_delivery, deliver
    from cmbuild.pipeline.defaults import complete
    from cmbuild.pipeline.options import compose
    from cmbuild.pipeline.pipeline import build_folder
    from cmbuild.report.run import RunReport

    named, remarks = complete(chosen)
    request = compose(RunRequest, **named)
    force = request.build.source.force
    check_delivery([html], force)
    folder = build_folder(request.build)
    with session(folder / "logs", json=as_json, verbose=verbose, remarks=remarks) as work:
        request = replace(request, build=work.settled(request.build))
        run = work.pipeline.simulate(request)
        try:
            work.make([run], [folder], jobs)
        finally:
            if run.result is not None:
                work.show(RunReport(run.result, layers))
                if html is not None:
                    from cmbuild.report.html.page import page

                    deliver({html: page(run.result).encode()}, force)
    return work.status
