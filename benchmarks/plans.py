#!/usr/bin/env python3
"""Compares what two versions of the compiler make of the same programs.

    python benchmarks/plans.py write BEFORE.json PROGRAM ...    # .pte files, or .zip with one
    python benchmarks/plans.py write AFTER.json PROGRAM ...     # after the change
    python benchmarks/plans.py compare BEFORE.json AFTER.json

Each program is planned for every instruction set: with streams, without, and with weights of int16.
Recorded are its argument words, turns and rows, constants, kernels, bytes of arena, and the cycles
predicted for the cores of the instruction set. `compare` prints what differs, and exits with 1 if
anything does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cmbuild.sizing.prediction import known_costs, work_by_kernel
from cmcompiler.errors import CompilerError
from cmcompiler.importer.build import build_graph
from cmcompiler.importer.programs import parse
from cmcompiler.isa import Isa
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.planner import make_plan

OPTIONS = {
    "streams": PlanOptions(),
    "whole": PlanOptions(streams=False),
    "wide": PlanOptions(streams=False, wide=True),
}
SHOWN = 6
"""Differences of a kind that are printed."""


@dataclass(frozen=True)
class Record:
    """A plan, by the hashes of its parts.

    Attributes:
        error: why there is no plan; empty if there is one.
        cycles: predicted, by core.
    """

    error: str = ""
    words: str = ""
    constants: str = ""
    kernels: tuple[str, ...] = ()
    arena: int = 0
    work: str = ""
    cycles: dict[str, float] = field(default_factory=dict)


def record(data: bytes, isa: Isa, options: PlanOptions) -> Record:
    try:
        plan = make_plan(build_graph(parse(data)), isa, options)
    except CompilerError as error:
        return Record(error=str(error))
    steps = [(s.kernel, s.rows, s.turns, [a.word for a in s.words]) for s in plan.steps]
    return Record(
        words=_hash(json.dumps(steps).encode()),
        constants=_hash(plan.constants),
        kernels=tuple(sorted({step.kernel for step in plan.steps})),
        arena=plan.arena_bytes,
        work=_hash(json.dumps(sorted(work_by_kernel(plan).items())).encode()),
        cycles=_cycles(plan),
    )


def _cycles(plan: Plan) -> dict[str, float]:
    """Predicted cycles, by core, of those for which the costs of all kernels are known."""
    work = work_by_kernel(plan)
    cores = known_costs().cores.items()
    own = {name: core.cycles(work) for name, core in cores if core.isa == plan.isa.label}
    return {name: round(cycles, 3) for name, cycles in own.items() if cycles is not None}


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def programs(paths: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """Each once, even if several files hold it."""
    seen = set()
    for path in paths:
        data = zipfile.ZipFile(path).read("model.pte") if path.suffix == ".zip" else None
        data = data or path.read_bytes()
        if _hash(data) not in seen:
            seen.add(_hash(data))
            name = path.parent.name if path.stem == "model" else path.stem
            yield f"{name} {_hash(data)[:6]}", data


def write(file: Path, paths: Sequence[Path]) -> None:
    records = {}
    for name, data in programs(paths):
        for isa in Isa:
            for label, options in OPTIONS.items():
                records[f"{name} {isa.label} {label}"] = asdict(record(data, isa, options))
    file.write_text(json.dumps(records, indent=0, sort_keys=True) + "\n")
    print(f"{len(records):,} plans, {time.process_time():.0f} s of processor time")


def compare(before: Path, after: Path) -> int:
    """The number of values that differ."""
    old, new = (json.loads(path.read_text()) for path in (before, after))
    same: Counter[str] = Counter()
    differences: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(old.keys() & new.keys()):
        for key, value in old[name].items():
            if value == new[name][key]:
                same[key] += 1
            else:
                differences[key].append(f"{name}: {value} → {new[name][key]}")
    print(f"{len(old.keys() & new.keys()):,} plans;", *(f"{n:,} {k}" for k, n in same.items()))
    for key, lines in differences.items():
        print(f"{key}: {len(lines)} differ", *lines[:SHOWN], sep="\n  ")
    return sum(map(len, differences.values()))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    actions = parser.add_subparsers(dest="action", required=True)
    writing = actions.add_parser("write", help="plan programs and record the plans")
    writing.add_argument("file", type=Path)
    writing.add_argument("programs", type=Path, nargs="+")
    comparing = actions.add_parser("compare", help="print what two records do not agree on")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.action == "write":
        write(given.file, given.programs)
        return 0
    return int(compare(given.before, given.after) > 0)


if __name__ == "__main__":
    sys.exit(main())
