"""The JSON document of a run."""

from __future__ import annotations

from cmbuild.pipeline.layers import PlacedLayer
from cmbuild.pipeline.results import RunResult
from cmbuild.report.documents import document_of
from cmbuild.results import Score

RunDocument = document_of(
    RunResult,
    "run",
    text="`cmbuild run`; `error`, `hint` and `exit_code` are present only if it failed.",
    types=[PlacedLayer],
    verification={
        "verified": bool,
        "faithful": bool | None,
        "rule": str,
        "samples": int,
        "mismatches": int,
        "first_difference": str | None,
    },
    best={"top": tuple[Score, ...]},
    faithfulness={},
)
