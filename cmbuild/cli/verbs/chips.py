"""cmbuild chips"""

from __future__ import annotations

import click

from cmbuild.cli import options

EPILOG = """\b
Examples:
  cmbuild chips nrf52
  cmbuild chips 'stm32f4*'
  cmbuild run mlp --board STM32F411RE
"""


@click.command("chips", epilog=EPILOG, short_help="List the chips that boards can be named by.")
@click.argument("pattern", required=False)
@options.everything
@options.json
def command(pattern: str | None, everything: bool, as_json: bool) -> int:
    """List chips whose name contains PATTERN, or fits it if it has `*` or `?`.

    A chip's name is a board's for --board, and new board --chip writes a folder for it.

    \b
    Exit status: 0 a chip fits; 2 none does.
    """
    from cmbuild.chips.table import UnknownChip, chips, matching, source
    from cmbuild.report.chips import ChipsReport
    from cmbuild.report.choice import reporter

    fitting = list(chips().values() if pattern is None else matching(pattern))
    if not fitting:
        raise UnknownChip(name=pattern)
    reporter(as_json).close([ChipsReport(fitting, source(), pattern, everything)], None)
    return 0
