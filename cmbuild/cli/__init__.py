"""The command line: a face on the task graph, with one module per verb."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code, 130 also for Ctrl-C while modules are imported."""
    try:
        from cmbuild.cli.root import run

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
