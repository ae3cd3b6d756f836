"""cmbuild doctor"""

from __future__ import annotations

import click

from cmbuild.cli import options


@click.command("doctor", short_help="Show the tools found and how to install missing ones.")
@options.everything
@options.json
def command(everything: bool, as_json: bool) -> int:
    """Show every component that cmbuild uses: version, location, what needs it, how to install it.

    \b
    Exit status: 0 nothing necessary is missing; 3 something is.
    """
    from cmbuild.doctor.components import components
    from cmbuild.errors import ExitCode
    from cmbuild.report.choice import reporter
    from cmbuild.report.doctor import DoctorReport

    present = components()
    reporter(as_json).close([DoctorReport(present, everything)], None)
    return ExitCode.MISSING if any(component.is_lacking for component in present) else ExitCode.FINE
