"""cmbuild monitor"""

from __future__ import annotations

import time
from dataclasses import dataclass

import click

from cmbuild.cli import options
from cmbuild.pipeline.request import BoardChoice, FlashOptions

EPILOG = """\b
Examples:
  cmbuild monitor
  cmbuild monitor --board rp2350
  cmbuild monitor --board rp2350 --port /dev/ttyUSB1 --timeout 10

\b
Exit status: 0 time limit reached; 1 port lost; 2 usage, or several ports found;
3 no port found, or it cannot be opened; 130 Ctrl-C.
"""


@dataclass(frozen=True, slots=True)
class MonitorResult:
    """`cmbuild monitor`, printed at its end."""

    port: str
    baud: int
    lines: tuple[str, ...]


RESULT = MonitorResult


@click.command("monitor", epilog=EPILOG, short_help="Show a real board's output.")
@options.of(
    BoardChoice,
    only=("board",),
    board={"help": "See `cmbuild boards`; by default the project's."},
)
@options.of(
    FlashOptions,
    only=("port", "timeout"),
    timeout={"help": "Duration; by default until Ctrl-C."},
)
@options.json
def command(*, board: str | None, port: str | None, timeout: float | None, as_json: bool) -> int:
    """Show the output of a board's serial port: text as it is, the runner's messages decoded.
    Sends nothing, so a board that waits for the host keeps announcing itself.
    """
    from cmbuild.catalog import find_board
    from cmbuild.hardware.port import SerialPort
    from cmbuild.hardware.transcript import Transcript
    from cmbuild.launchers.real import hardware
    from cmbuild.pipeline.defaults import find_board_name

    name, remarks = find_board_name(board)
    for remark in remarks:
        click.echo(f"  {remark}", err=True)
    line = hardware(find_board(name), port)
    transcript = Transcript()
    end = None if timeout is None else time.monotonic() + timeout
    lines: list[str] = []
    with SerialPort(str(line.port), line.baud) as opened:
        click.echo(f"-- {opened.name} at {line.baud}", err=True)
        while end is None or time.monotonic() < end:
            for text in transcript.feed(opened.read()):
                if as_json:
                    lines.append(text)
                else:
                    click.echo(text)
    if as_json:
        from cmbuild.report.actions import Done
        from cmbuild.report.choice import reporter

        told = MonitorResult(str(line.port), line.baud, tuple(lines))
        reporter(as_json).close([Done(told)], None)
    return 0
