from __future__ import annotations

import json
import re
from dataclasses import replace

from harness.page import Page, assert_same_numbers
from harness.results import MV2

from cmbuild.benchmark.matrix import BenchCell
from cmbuild.report.bench import BenchReport
from cmbuild.report.html.bench_page import bench_page

SLOW = BenchCell("mv2", "corstone300", "cortex-m55", "mve", "gcc", True, MV2, None)
FAST = replace(SLOW, isa="scalar", result=replace(MV2, cycles=replace(MV2.cycles, total=1_000_000)))
FAILED = replace(SLOW, board="microbit", result=None, failure="too big </td>")


def test_numbers_are_those_of_json() -> None:
    cells = (SLOW, FAST, FAILED)
    parsed = Page(bench_page(cells))
    document = json.loads(BenchReport(cells).document(()).model_dump_json())
    assert (parsed.open, parsed.addresses, parsed.embedded) == ([], [], document)
    assert_same_numbers(parsed.numbers, document)
    assert {"cells.0.cycles", "cells.1.memory.ram.total"} <= parsed.numbers.keys()
    assert "too big </td>" in [text.strip() for text in parsed.texts]


def test_only_verified_runs_are_points_and_the_best_has_a_ring() -> None:
    html = bench_page((SLOW, FAST, FAILED))
    assert html.count("<g><title>") == 2
    (ringed,) = re.findall(r"<title>([^<]*)</title><circle", html)
    assert ringed == "mv2 on corstone300, scalar, gcc: 1,000,000 cycles, 1,526,740 bytes of RAM"
    assert "corstone300, mve</span>" in html


def test_without_cycles_there_is_no_chart() -> None:
    uncounted = replace(SLOW, result=replace(MV2, cycles=None))
    html = bench_page((uncounted, FAILED))
    assert 'class="chart"' not in html and "Cycles and RAM" not in html
