"""The page of curves shows each point with the figures of the JSON in it."""

from __future__ import annotations

import json
import re

from cmbuild.report.html.curves import curves_page
from cmbuild.sizing.results import CurvePointResult, FitResult, PredictedCycles, RamCurveResult


def result(model: str) -> FitResult:
    points = [
        CurvePointResult(bytes_, bytes_ - 16, bytes_ + 900, 30_000, bytes_ < 50_000, cycles)
        for bytes_, cycles in (
            (400_000, PredictedCycles(1_000_000, None, 8)),
            (40_000, PredictedCycles(1_100_000, None, 8)),
            (20_000, PredictedCycles(1_500_000, None, 8)),
            (10_000, None),
        )
    ]
    curve = RamCurveResult(39_984, tuple(points))
    return FitResult(model, "rp2350", 1 << 20, 1 << 19, True, None, curve=curve)


def test_points_near_the_usual_arena_are_drawn_and_all_are_listed() -> None:
    page = curves_page([result("mv2")])
    titles = re.findall(r"<title>(--ram-budget .*?)</title>", page)
    assert titles == [
        "--ram-budget 40000: 39,984 bytes, 1,100,000 cycles, +10.0 %",
        "--ram-budget 20000: 19,984 bytes, 1,500,000 cycles, +50.0 %",
    ]
    rows = re.findall(r'<tr><td class="n">(\d+)</td>.*?<td>(yes|no)</td></tr>', page)
    assert rows == [("400000", "no"), ("40000", "yes"), ("20000", "yes"), ("10000", "yes")]
    places = [float(x) for x in re.findall(r' cx="([\d.]+)"', page)]
    assert places == sorted(places, reverse=True) and all(70 <= x <= 970 for x in places)
    embedded = re.search(r'<script type="application/json" id="result">(.*?)</script>', page)
    assert embedded is not None
    assert len(json.loads(embedded[1])["fits"][0]["curve"]["points"]) == 4


def test_names_cannot_end_the_page() -> None:
    page = curves_page([result("a</script><b>")])
    assert page.count("</script>") == 1 and "<b>" not in page
