"""The command line: a face on the task graph, with one module per verb."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code, 130 also for Ctrl-C while modules are imported."""
    # A command makes long-lived objects and ends: the default, 700, looks through them in vain.
    gc.set_threshold(50_000)
    try:
        from cmbuild.cli.root import run

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
