"""Output for programs: one JSON object on standard output, everything else on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import ErrorDocument
from cmbuild.report.lines import Lines
from cmbuild.report.rendering import reports
from cmbuild.report.stream import write

if TYPE_CHECKING:
    from cmbuild.errors import CmbuildError


class Json(Lines):
    """A reporter for `--json`."""

    def __init__(self, verbose: bool) -> None:
        super().__init__(verbose, sys.stderr)
        self._outcomes: list[StepOutcome] = []

    def ended(self, outcome: StepOutcome) -> None:
        super().ended(outcome)
        self._outcomes.append(outcome)

    def close(self, results: Sequence[object], failure: CmbuildError | None) -> None:
        """Several results are several objects, one per line; the last one has the failure."""
        import json

        # pydantic writes null for what JSON cannot express, such as NaN.
        documents = [
            json.loads(r.document(self._outcomes).model_dump_json()) for r in reports(results)
        ]
        if failure is not None:
            write(failure.lines, sys.stderr)
            documents = documents or [{}]
            documents[-1] |= ErrorDocument.of(failure).model_dump()
        indent = 2 if len(documents) == 1 else None
        # Text that a caller collects has no encoding.
        is_utf8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
        for document in documents:
            write(json.dumps(document, ensure_ascii=not is_utf8, indent=indent), sys.stdout)
