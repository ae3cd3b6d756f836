"""cmbuild monitor"""

from __future__ import annotations

import time

import click

from cmbuild.cli import options
from cmbuild.pipeline.request import BoardChoice, FlashOptions

EPILOG = """\b
Examples:
  cmbuild monitor --board rp2350
  cmbuild monitor --board rp2350 --port /dev/ttyUSB1 --timeout 10

\b
Exit status: 0 time is up; 1 the port was lost; 2 usage, or several ports;
3 no port, or it cannot be opened; 130 Ctrl-C.
"""


@click.command("monitor", epilog=EPILOG, short_help="Show a real board's output.")
@options.of(BoardChoice, only=("board",), board={"required": True, "help": "See `cmbuild boards`."})
@options.of(
    FlashOptions,
    only=("port", "timeout"),
    timeout={"help": "Duration; by default until Ctrl-C."},
)
def command(board: str, port: str | None, timeout: float | None) -> int:
    """Show what comes over the serial line of a board: text as it is, and the runner's messages
    decoded. Answers nothing: a board that greets goes on greeting.
    """
    from cmbuild.catalog import find_board
    from cmbuild.hardware.port import SerialPort
    from cmbuild.hardware.transcript import Transcript
    from cmbuild.launchers.selection import hardware

    line = hardware(find_board(board), port)
    transcript = Transcript()
    end = None if timeout is None else time.monotonic() + timeout
    with SerialPort(str(line.port), line.baud) as opened:
        click.echo(f"-- {opened.name} at {line.baud}", err=True)
        while end is None or time.monotonic() < end:
            for text in transcript.feed(opened.read()):
                click.echo(text)
    return 0
