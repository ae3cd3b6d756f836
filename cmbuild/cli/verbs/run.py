"""cmbuild run"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cmbuild.cli import options

EPILOG = """\b
Examples:
  cmbuild run mv2 --board corstone300
  cmbuild run digits --board corstone300 --isa scalar -n 20
  cmbuild run mv2 --board corstone300 --input dog.jpg --output-dir out
  cmbuild run net.py:make --board native --json
  cmbuild run mlp --board rp2350 --on hardware

MODEL is a name of `cmbuild models`, path.py[:callable], path.pt2 or path.pte.
A .pte needs no torch; without --input it is run on seeded random samples.

\b
Exit status: 0 verified; 1 failed: mismatch, fault, does not fit;
2 usage or unreadable input; 3 something is missing on this machine; 130 Ctrl-C.
"""


@click.command(
    "run", epilog=EPILOG, short_help="Export, build and run a model, and verify its outputs."
)
@options.chosen_model
@options.build
@click.option(
    "--samples",
    "-n",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of samples; by default one.",
)
@click.option(
    "--input",
    "inputs",
    type=options.FILE,
    multiple=True,
    metavar="FILE",
    help="A .npy, .pt or image, once for each input; or one .npz of samples.",
)
@click.option(
    "--output-dir",
    type=options.OUTPUT_FOLDER,
    metavar="DIR",
    help="Folder for output_0.npy, ...",
)
@options.launcher
@options.place("hardware: a real board, flashed first if it runs another image.")
@options.real_board
@click.option(
    "--flash-method", metavar="NAME", help="As `cmbuild flash --method`; for --on hardware."
)
@options.timeout("For the simulator or board; by default by the model's work.")
@click.option("--reset", is_flag=True, help="Reset mutable buffers before each sample.")
@options.jobs
@options.output
def command(
    as_json: bool, verbose: bool, jobs: int, inputs: tuple[Path, ...], **chosen: Any
) -> int:
    """Export, plan, build and run MODEL on a board, and compare its outputs to the bit with the
    reference.
    """
    from cmbuild.cli.session import session
    from cmbuild.pipeline.defaults import complete
    from cmbuild.pipeline.pipeline import build_folder
    from cmbuild.pipeline.request import RunRequest

    named, remarks = complete(chosen)
    request = RunRequest(inputs=inputs, **named)
    folder = build_folder(request)
    with session(folder / "logs", json=as_json, verbose=verbose, remarks=remarks) as work:
        work.perform_and_show([work.pipeline.simulate(request)], [folder], jobs)
    return work.status
