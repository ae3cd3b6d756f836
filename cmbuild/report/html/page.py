"""Fills the template of the HTML report from the JSON document of a run."""

from __future__ import annotations

import json

from cmbuild.pipeline.results import RunResult
from cmbuild.report.faithfulness import faithful_text
from cmbuild.report.fidelity import basis_text
from cmbuild.report.html.environment import rendered
from cmbuild.report.html.provenance import sources
from cmbuild.report.run import RunReport

_TEMPLATE = "run.html.j2"


def page(run: RunResult) -> str:
    """The report of a run. Its numbers are those of `cmbuild run --json`, which it contains; each
    is a <data> whose `class` is its path there.
    """
    document = json.loads(RunReport(run).document(()).model_dump_json())
    return rendered(
        _TEMPLATE,
        document,
        "run",
        title=f"{run.model} on {run.board}",
        sources=sources(run),
        uncounted=run.uncounted,
        basis="" if run.fidelity is None else basis_text(run.fidelity),
        faithful=faithful_text(run.faithfulness),
        faults=run.faithfulness.faults,
    )
