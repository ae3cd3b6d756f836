"""The schema of cmbuild.toml, for editors."""

from __future__ import annotations

import json

import pytest
from harness.sources import ROOT

from cmbuild.projects.file import ProjectFile

SCHEMA = ROOT / "docs" / "cmbuild-schema.json"


def schema() -> str:
    return json.dumps(ProjectFile.model_json_schema(), indent=2) + "\n"


def test_the_schema_is_up_to_date(request: pytest.FixtureRequest):
    if request.config.getoption("rewrite"):
        SCHEMA.write_text(schema())
    assert SCHEMA.read_text() == schema(), "./cmbuildw test tests/cmbuild/projects --rewrite"


def test_unknown_keys_are_none_of_it():
    tables = json.loads(schema())["$defs"]
    assert {name for name, each in tables.items() if each["additionalProperties"]} == set()
    assert tables["BudgetFile"]["properties"]["flash"]["anyOf"][0]["type"] == ["number", "string"]
