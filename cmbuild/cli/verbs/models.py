"""cmbuild models"""

from __future__ import annotations

import click

from cmbuild.cli import options


@click.command("models", short_help="List the models that come with cmbuild.")
@options.json
def command(as_json: bool) -> int:
    """List the models that `cmbuild run` knows by name: the project's, and those of the zoo.

    Any other is path.py[:callable], path.pt2, path.pte or path.tflite.
    """
    from cmbuild.projects.project import find_project
    from cmbuild.report.choice import reporter
    from cmbuild.report.models import ModelsReport
    from cmcompiler import zoo

    reporter(as_json).close([ModelsReport(zoo.models(), find_project())], None)
    return 0
