"""Runs that costs were fitted to, in recorded_runs.json, and the table of costs beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cmbuild.sizing.prediction import COSTS, CostTable
from cmcompiler.ir.work import Work

RECORDED = Path(__file__).with_name("recorded_runs.json")


@dataclass(frozen=True)
class RecordedRun:
    """Cycles of a model on the simulator, and its work by kernel."""

    cycles: int
    work: Mapping[str, Work]


Recorded = dict[str, dict[str, RecordedRun]]
"""Runs by core and model."""


def read_recorded() -> Recorded:
    return {
        cpu: {
            model: RecordedRun(
                run["cycles"], {kernel: Work(**counts) for kernel, counts in run["work"].items()}
            )
            for model, run in models.items()
        }
        for cpu, models in json.loads(RECORDED.read_text()).items()
    }


def write_tables(table: CostTable, recorded: Recorded) -> None:
    cores = {
        cpu: {
            "isa": costs.isa,
            "error_percent": costs.error_percent,
            "kernels": _by_name(costs.kernels),
        }
        for cpu, costs in table.cores.items()
    }
    COSTS.write_text(_lines({"provenance": table.provenance, "cores": cores}) + "\n")
    runs = {
        cpu: {
            model: {"cycles": run.cycles, "work": _by_name(run.work)}
            for model, run in models.items()
        }
        for cpu, models in recorded.items()
    }
    RECORDED.write_text(_lines(runs) + "\n")


def _by_name(work: Mapping[str, Work]) -> dict[str, dict[str, float]]:
    """The counts that are not zero."""
    return {
        kernel: {
            name: int(count) if count == int(count) else count
            for name, count in amounts._asdict().items()
            if count
        }
        for kernel, amounts in work.items()
    }


def _lines(value: object, level: int = 0) -> str:
    """JSON with a kernel a line."""
    if not isinstance(value, dict) or level == _KERNELS:
        return json.dumps(value)
    inner = " " * (level + 1)
    items = (f"{inner}{json.dumps(key)}: {_lines(each, level + 1)}" for key, each in value.items())
    return "{\n" + ",\n".join(items) + "\n" + " " * level + "}"


_KERNELS = 4
"""How deep the counts of a kernel lie in both files."""
