"""cmbuild flash"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped
from cmbuild.discovery import listed, names
from cmbuild.hardware import methods
from cmbuild.pipeline.request import FlashOptions, FlashRequest

EPILOG = """\b
Examples:
  cmbuild flash mlp --board rp2350
  cmbuild flash mlp --board rp2350 --method picotool
  cmbuild flash model.pte --board rp2350 --dry-run

\b
Exit status: 0 flashed; 1 failed; 2 usage, or several boards found;
3 no board found, or the method's program is not installed; 130 Ctrl-C.
"""


@click.command(
    "flash", cls=Grouped, epilog=EPILOG, short_help="Flash a model's firmware onto a real board."
)
@options.chosen_model
@options.firmware
@options.of(
    FlashOptions,
    flash_method={
        "flags": ("--method",),
        "help": f"{listed(names(methods))}; by default the first available.",
    },
    timeout={"help": "Time limit for the board or the flash program."},
)
@options.jobs
@options.output
def command(as_json: bool, verbose: bool, jobs: int, **chosen: Any) -> int:
    """Export, plan and build MODEL for a board, and flash it.

    A Pico 2 shows its volume if you hold BOOTSEL while you plug it in.
    """
    from cmbuild.cli.session import session
    from cmbuild.pipeline.defaults import complete
    from cmbuild.pipeline.options import compose
    from cmbuild.pipeline.pipeline import build_folder

    named, remarks = complete(chosen)
    request = compose(FlashRequest, **named)
    folder = build_folder(request.build)
    with session(folder / "logs", json=as_json, verbose=verbose, remarks=remarks) as work:
        request = replace(request, build=work.settled(request.build))
        runner = work.pipeline.runner(request.build)
        work.make_and_show([work.pipeline.flash(runner, request)], [folder], jobs)
    return work.status
