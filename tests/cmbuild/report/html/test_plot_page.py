from __future__ import annotations

import math

import pytest
from harness.page import Page, assert_same_numbers

from cmbuild.errors import UsageError
from cmbuild.report.html.chart import Point
from cmbuild.report.html.plot_page import axis, plot_page


def test_the_page_has_its_points() -> None:
    points = [Point(1e6, 0.91, "small", "fits", "4 stages"), Point(3e6, 0.97, "large", "too big")]
    parsed = Page(plot_page(points, "Search <b>", "cycles of one inference", "accuracy"))
    assert (parsed.open, parsed.addresses) == ([], [])
    assert_same_numbers(parsed.numbers, parsed.embedded)
    assert [point["label"] for point in parsed.embedded["points"]] == ["small", "large"]
    assert "Search <b>" in parsed.texts


@pytest.mark.parametrize(
    ("title", "value", "written"),
    [
        ("cycles of one inference", 5e6, "5 M"),
        ("arena, in bytes", 2048, "2 KB"),
        ("accuracy (top-1)", 0.5, "50.0 %"),
        ("latency in ms", 1.25, "1.25"),
    ],
)
def test_words_of_a_title_choose_how_values_are_written(
    title: str, value: float, written: str
) -> None:
    assert axis(title).written(value) == written


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (0.0, 0.5, "'a' has 0.0 as its cycles; expected more than 0"),
        (math.nan, 0.5, "'a' has nan as its cycles; expected more than 0"),
        (5.0, math.inf, "'a' has inf as its accuracy; expected a finite number"),
    ],
)
def test_a_point_without_a_place_is_refused(x: float, y: float, message: str) -> None:
    with pytest.raises(UsageError) as error:
        plot_page([Point(x, y, "a", "")], "", "cycles", "accuracy")
    assert error.value.message == message
    with pytest.raises(UsageError, match="no points"):
        plot_page([], "", "cycles", "accuracy")
