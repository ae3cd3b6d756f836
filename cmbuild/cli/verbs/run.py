"""cmbuild run"""

from __future__ import annotations

from typing import Any

import click

from cmbuild.cli import options
from cmbuild.pipeline.request import RunRequest

EPILOG = """\b
Examples:
  cmbuild run mv2 --board corstone300
  cmbuild run digits --board corstone300 --isa scalar -n 20
  cmbuild run mv2 --board corstone300 --input dog.jpg --output-dir out
  cmbuild run net.py:make --board native --json
  cmbuild run mlp --board rp2350 --on hardware

MODEL is a name of `cmbuild models`, path.py[:callable], path.pt2 or path.pte.
A .pte needs no torch; without --input it runs on seeded random samples.

\b
Exit status: 0 verified; 1 failed: mismatch, fault, does not fit;
2 usage or unreadable input; 3 something is missing on this machine; 130 Ctrl-C.
"""


@click.command(
    "run", epilog=EPILOG, short_help="Export, build and run a model, and verify its outputs."
)
@options.chosen_model
@options.of(RunRequest, without=("dry_run",))
@options.jobs
@options.output
def command(as_json: bool, verbose: bool, jobs: int, **chosen: Any) -> int:
    """Export, plan, build and run MODEL on a board, and compare its outputs bit by bit with the
    reference.
    """
    from cmbuild.cli.session import session
    from cmbuild.pipeline.defaults import complete
    from cmbuild.pipeline.options import compose
    from cmbuild.pipeline.pipeline import build_folder

    named, remarks = complete(chosen)
    request = compose(RunRequest, **named)
    folder = build_folder(request.build)
    with session(folder / "logs", json=as_json, verbose=verbose, remarks=remarks) as work:
        work.perform_and_show([work.pipeline.simulate(request)], [folder], jobs)
    return work.status
