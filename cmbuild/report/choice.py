"""Which reporter a command gets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cmbuild.pipeline.events import Reporter


def reporter(json: bool, verbose: bool = False) -> Reporter:
    """JSON if requested, live output on a terminal, plain lines otherwise.

    Args:
        verbose: show the command lines of child processes.
    """
    if json:
        from cmbuild.report.json_lines import Json

        return Json(verbose)
    if sys.stdout.isatty():
        from cmbuild.report.live import LiveSteps

        return LiveSteps(verbose)
    from cmbuild.report.lines import Lines

    return Lines(verbose)
