"""`west cmbuild`: all of cmbuild's commands, in the environment that west runs in."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from west.commands import CommandError, WestCommand

ROOT = Path(__file__).resolve().parents[1]


class Cmbuild(WestCommand):
    """Hands its words to cmbuild: the installed one, or this checkout's."""

    def __init__(self) -> None:
        super().__init__("cmbuild", "run cmbuild", str(__doc__), accepts_unknown_args=True)

    def do_add_parser(self, adder):  # type: ignore[no-untyped-def]
        parser: ArgumentParser = adder.add_parser(self.name, add_help=False)
        return parser

    def do_run(self, args: Namespace, unknown: list[str]) -> None:
        sys.path += [str(ROOT), str(ROOT / "compiler")]
        from cmbuild.cli import main

        if status := main(unknown):
            raise CommandError(int(status))
