"""Documents come from results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from cmbuild.display.fields import screen_only
from cmbuild.pipeline.layers import PlacedLayer
from cmbuild.pipeline.results import RunResult
from cmbuild.report.documents import document_of
from cmbuild.report.run_document import RunDocument


@dataclass(frozen=True)
class Inner:
    first: int
    second: str


@dataclass(frozen=True)
class SmallResult:
    name: str
    inner: Inner
    width: int = field(metadata=screen_only())
    layers: tuple[PlacedLayer, ...]
    artifacts: Mapping[str, Path]


def test_a_document_has_the_fields_of_its_result_and_the_steps() -> None:
    document = document_of(SmallResult, text="A text.", inner={"first": int, "last": str})
    assert list(document.model_fields) == ["name", "first", "last", "layers", "steps", "artifacts"]
    assert (document.__name__, document.__doc__) == ("SmallDocument", "A text.")
    made = document.of(SmallResult("x", Inner(1, "y"), 3, (), {}), [], first=1, last="y")
    assert made.model_dump() == {
        **{"name": "x", "first": 1, "last": "y", "layers": (), "steps": (), "artifacts": {}},
    }


def test_every_field_of_a_run_is_in_its_document_or_on_the_screen_alone() -> None:
    renamed = {"verification", "best", "faithfulness"}
    shown = {each.name for each in fields(RunResult) if not each.metadata}
    assert shown - renamed <= RunDocument.model_fields.keys()
    assert {each.name for each in fields(RunResult)} - shown == {"has_fpu", "uncounted", "folder"}
