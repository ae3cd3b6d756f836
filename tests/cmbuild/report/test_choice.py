"""Which reporter a command gets."""

from __future__ import annotations

import sys

import pytest

from cmbuild.report.choice import reporter
from cmbuild.report.json_lines import Json
from cmbuild.report.lines import Lines
from cmbuild.report.live import LiveSteps


@pytest.mark.parametrize(
    ("json", "terminal", "kind"),
    [(True, True, Json), (True, False, Json), (False, True, LiveSteps), (False, False, Lines)],
)
def test_json_goes_before_a_terminal(
    monkeypatch: pytest.MonkeyPatch, json: bool, terminal: bool, kind: type[object]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert type(reporter(json)) is kind
