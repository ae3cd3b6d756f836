"""Charts: ticks are round, points are where their values are, labels do not cover each other."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from harness.page import Page

from cmbuild.report.html.chart import BarPair, PlotAxis, Point, pairs, scatter

CYCLES = PlotAxis("cycles", lambda value: f"{value:g}")
BYTES = PlotAxis("RAM", lambda value: f"{value:g}", is_binary=True)
SHARE = PlotAxis("accuracy", lambda value: f"{value:.0%}", is_log=False)


def drawn(count: int) -> list[Point]:
    random.seed(count)
    return [
        Point(2 ** random.uniform(9, 21), 10 ** random.uniform(3, 9), f"net {n}", f"board {n % 8}")
        for n in range(count)
    ]


def texts(svg: str) -> list[tuple[float, float, str, str]]:
    """Of each label its place, its anchor and its words."""
    matches = re.findall(
        r'<text x="([\d.-]+)" y="([\d.-]+)" text-anchor="(\w+)">([^<]*)</text>', svg
    )
    return [(float(x), float(y), anchor, words) for x, y, anchor, words in matches]


@pytest.mark.parametrize("count", [1, 2, 9, 60])
def test_labels_do_not_cover_each_other(count: int) -> None:
    svg = str(scatter(drawn(count), BYTES, CYCLES, "x"))
    shown = [each for each in texts(svg) if each[3].startswith("net ")]
    assert len(shown) >= min(count, 9) - 2
    boxes = []
    for x, y, anchor, words in shown:
        width = 5.0 * len(words)
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        boxes.append((left, y - 8, left + width, y + 2))
    for number, one in enumerate(boxes):
        assert one[0] >= 0 and one[2] <= 440
        for other in boxes[:number]:
            assert (
                one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            )


def test_every_point_is_there_and_each_group_in_the_key() -> None:
    points = drawn(60)
    svg = str(scatter(points, BYTES, CYCLES, "x"))
    assert svg.count("<g><title>") == 60
    assert Page(svg).open == []
    key = svg[svg.index('class="key"') :]
    assert all(f"</svg>board {n}</span>" in key for n in range(8))
    shapes = re.findall(r'<path class="(g\d)" d="M[\d.-]+ [\d.-]+([^"]+)"', key)
    assert len(set(shapes)) == 8


def test_a_higher_value_is_higher_and_a_larger_one_further_right() -> None:
    points = [Point(1000, 1e6, "a", ""), Point(4000, 1e7, "b", "")]
    svg = str(scatter(points, BYTES, CYCLES, "x"))
    (ax, ay), (bx, by) = re.findall(r'd="M([\d.]+) ([\d.]+)a4', svg)
    assert float(ax) < float(bx) and float(ay) > float(by)


@pytest.mark.parametrize(
    ("axis", "low", "high", "ticks"),
    [
        (CYCLES, 4e5, 9e7, ["300000", "1e+06", "3e+06", "1e+07", "3e+07", "1e+08"]),
        (BYTES, 1500, 9000, ["2048", "4096", "8192"]),
        (SHARE, 0.81, 0.99, ["80%", "85%", "90%", "95%", "100%"]),
        (CYCLES, 1000, 1010, ["980", "1000", "1020", "1040"]),
    ],
)
def test_ticks_are_round(axis: PlotAxis, low: float, high: float, ticks: list[str]) -> None:
    points = [Point(low, 1, "a", ""), Point(high, 2, "b", "")]
    svg = str(scatter(points, axis, SHARE, "x"))
    shown = [words for _, y, _, words in texts(svg) if y == 271]
    assert shown == ticks


def test_names_stay_text() -> None:
    svg = str(scatter([Point(1, 1, "</svg><b>", "a&b", "<i>")], CYCLES, CYCLES, '"x"'))
    assert "<b>" not in svg and "<i>" not in svg and Page(svg).open == []
    assert "<b>" not in str(pairs([BarPair("<b>", "<b>", 1, 2)], "<b>"))


def test_bars_are_as_long_as_their_values() -> None:
    rows = [BarPair("a", "", 100, 50), BarPair("b", "", None, 25)]
    own, shared = (
        re.findall(r'class="(\w+)" y="\d+" width="([\d.]+)"', str(pairs(rows, "x", shared=each)))
        for each in (False, True)
    )
    assert own == [("before", "440.00"), ("after", "220.00"), ("after", "440.00")]
    assert shared == [("before", "440.00"), ("after", "220.00"), ("after", "110.00")]


def test_points_that_stand_out_are_ringed() -> None:
    point = Point(1, 1, "a", "")
    assert "ring" not in str(scatter([point], CYCLES, CYCLES, "x"))
    assert str(scatter([replace(point, stands_out=True)], CYCLES, CYCLES, "x")).count("ring") == 1
