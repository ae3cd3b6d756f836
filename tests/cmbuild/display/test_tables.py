"""Tables of HTML: values as people read them, and nothing that a browser would run."""

from __future__ import annotations

from dataclasses import dataclass

from cmbuild.display.tables import HtmlTable, ResultTable


@dataclass(frozen=True, slots=True)
class Inner:
    share: float | None


@dataclass(frozen=True, slots=True)
class Row(HtmlTable):
    COLUMNS = ("name", "count", "good", "inner.share")

    name: str
    count: int
    good: bool
    inner: Inner | None


def test_values_are_shown_as_people_read_them() -> None:
    shown = Row("<b>", 12345, True, Inner(0.123456))._repr_html_()
    assert "<td>&lt;b&gt;</td><td>12,345</td><td>yes</td><td>0.1235</td>" in shown


def test_what_is_unknown_is_a_dash() -> None:
    for inner in (None, Inner(None)):
        assert Row("", 0, False, inner)._repr_html_().count("<td>–</td>") == 1


def test_several_are_one_table() -> None:
    rows = ResultTable([Row("a", 1, True, None), Row("b", 2, True, None)])
    assert rows._repr_html_().count("<tr>") == 3
    assert ResultTable()._repr_html_().count("<tr>") == 1
