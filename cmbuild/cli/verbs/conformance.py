"""cmbuild conformance"""

from __future__ import annotations

import os
from typing import Any

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped
from cmbuild.cli.numbers import Integer
from cmbuild.conformance.request import ConformanceRequest

EPILOG = """\b
Examples:
  cmbuild conformance --board corstone300
  cmbuild conformance --board mps2-an505 -k "conv or linear" --junit results.xml
  cmbuild conformance --board corstone300 --isa scalar --json
  cmbuild conformance --board corstone300 --scheduler tcp://build-1:8786

Your own CortexMTester tests run on a board with
  pytest -p cmbuild.conformance.plugin --cmbuild-board corstone300

\b
Exit status: 0 none failed; 1 some failed; 2 usage; 3 something is missing on
this machine; 130 Ctrl-C.
"""


@click.command(
    "conformance",
    cls=Grouped,
    epilog=EPILOG,
    short_help="Run ExecuTorch's own Cortex-M tests on a board.",
)
@options.of(
    ConformanceRequest,
    board={"default": "corstone300", "show_default": True, "help": "See `cmbuild boards`."},
    expression={"flags": ("-k",)},
)
@click.option(
    "--jobs",
    "-j",
    "-n",
    type=Integer(1),
    default=lambda: min(os.cpu_count() or 1, 8),
    show_default="one a core",
    metavar="N",
    help="Tests to run at once.",
)
@options.cluster
@options.output
def command(
    *, workers: int | None, scheduler: str | None, as_json: bool, verbose: bool, **chosen: Any
) -> int:
    """Run the installed executorch's tests of its Cortex-M backend: every program runs on a board
    and is compared bit by bit with the reference; ExecuTorch's own tolerances hold as well.
    """
    from cmbuild.cli.session import session
    from cmbuild.conformance.stages import ConformanceStage
    from cmbuild.pipeline.options import compose
    from cmbuild.tasks.graph import results_of
    from cmbuild.workers.choice import WorkersChoice

    request = compose(ConformanceRequest, **chosen)
    cluster, folder = WorkersChoice(workers, scheduler), request.folder
    with session(folder / "logs", json=as_json, verbose=verbose) as work:
        if cluster.is_chosen:
            from cmbuild.workers.testing import suite_on_workers

            stage = suite_on_workers(work, request, cluster)
            work.show(*results_of([stage]))
            if (failure := stage.verdict()) is not None:
                raise failure
        else:
            work.make_and_show([ConformanceStage.of(work.pipeline, request)], [folder])
    return work.status
