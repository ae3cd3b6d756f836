"""Differences of predicted cycles from the runs that costs are fitted to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import median
from typing import Any

from cmbuild.cycles.counter import core_title
from cmbuild.sizing.prediction import known_costs
from cmcompiler.ir.work import Work
from harness.sources import ROOT

RUNS: Mapping[str, Mapping[str, Any]] = json.loads(
    (ROOT / "benchmarks" / "recorded_runs.json").read_text()
)
"""Cycles of models on the simulator and their work by kernel, by core."""


def work_of(run: Mapping[str, Any]) -> dict[str, Work]:
    return {kernel: Work(**counts) for kernel, counts in run["work"].items()}


def differences(cpu: str) -> dict[str, float]:
    """By model, as a share of the simulator's cycles."""
    costs = known_costs().cores[cpu]
    return {
        model: (costs.cycles(work_of(run)) or 0) / run["cycles"] - 1
        for model, run in RUNS[cpu].items()
    }


def table() -> tuple[list[str], list[list[str]]]:
    """The header and the rows of the table in docs/cycles.md."""
    rows = []
    for cpu, costs in known_costs().cores.items():
        sizes = {model: 100 * abs(each) for model, each in differences(cpu).items()}
        worst = max(sizes, key=sizes.__getitem__)
        largest = f"{costs.error_percent} % ({worst.removeprefix('small_networks-')})"
        rows.append([core_title(cpu), str(len(sizes)), largest, f"{median(sizes.values()):.1f} %"])
    return ["core", "runs", "largest difference", "median"], rows
