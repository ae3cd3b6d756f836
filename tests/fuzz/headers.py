"""Headers of packages against their plans: of random ports that come row by row, by any names."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from dataclasses import dataclass, field, replace
from math import prod

from harness.examples import Example
from harness.fed_graphs import SCHEME, fed_graphs
from harness.headers import differences
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from cmcompiler.emit.interface import PackageInterface
from cmcompiler.emit.recording import record
from cmcompiler.errors import CompilerError
from cmcompiler.ir.graph import Graph, Port
from cmcompiler.isa import Isa
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.planner import make_plan

WORDS = ("a", "A", "x y", "0", "input_0", "output_1", "", "ä", '"*/', "int", "OK", "2", "_")
"""Names of ports are made of them."""

ENDS = (
    *("count", "bytes", "shape", "scale", "zero_point", "row", "rows", "row_count", "zero"),
    *("quantize", "dequantize", "class", "label", "2", "3", ""),
)
"""What the names of one port add to its own, and so another port could be called."""

BATCH = 40
"""Headers that one compiler reads."""

FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-xc", "-")


@dataclass
class Tally:
    """What became of the packages so far.

    Attributes:
        findings: what differs, by a signature.
        ports: of fed packages, whose rows are those of the plan.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    findings: dict[str, str] = field(default_factory=dict)
    ports: int = 0


def port_names(count: int, chance: random.Random) -> list[str]:
    names: list[str] = []
    for _ in range(count):
        start = chance.choice(names or WORDS)
        end = chance.choice((*WORDS, *ENDS, *ENDS))
        names.append(f"{start}_{end}" if end and chance.random() < 0.7 else start)
    return names


def with_schemes(graph: Graph, chance: random.Random) -> Graph:
    """The same with scales of some ports, as those of quantised inputs and outputs have."""

    def changed(port: Port) -> Port:
        return replace(port, quantization=chance.choice((None, SCHEME, port.quantization)))

    return replace(
        graph,
        inputs=tuple(map(changed, graph.inputs)),
        outputs=tuple(map(changed, graph.outputs)),
    )


def interface_of(plan: Plan, model: str, chance: random.Random) -> PackageInterface:
    """A package's interface with random names of ports, and perhaps of classes."""
    inputs, outputs = (port_names(len(ports), chance) for ports in (plan.inputs, plan.outputs))
    classes = tuple(port_names(prod(plan.outputs[0].shape), chance)[: chance.choice((0, None))])
    return PackageInterface.of(
        record(plan, model, ""), inputs, outputs, classes, is_classifier=chance.random() < 0.5
    )


def fuzz_headers(count: int, seed: int, tally: Tally) -> None:
    """So many packages; the same from the same seed."""
    headers: list[str] = []
    chance = random.Random(seed)

    @seeded(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(example=fed_graphs())
    def package(example: Example) -> None:
        header = _tried(example, f"m{len(headers)}", chance, tally)
        if header is not None:
            headers.append(header)
        if len(headers) == BATCH:
            compile_all(headers, tally)
            headers.clear()

    package()
    compile_all(headers, tally)


def _tried(example: Example, model: str, chance: random.Random, tally: Tally) -> str | None:
    feed = chance.choice(("whole", "rows", "rows"))
    try:
        plan = make_plan(with_schemes(example.graph, chance), Isa.SCALAR, PlanOptions(feed=feed))
    except CompilerError:
        tally.kinds["refused"] += 1
        return None
    interface = interface_of(plan, model, chance)
    wrong = differences(plan, interface)
    if wrong:
        names = [port.name for port in (*interface.inputs, *interface.outputs)]
        tally.findings.setdefault(
            wrong[0].removeprefix(model.upper()), f"{example}: ports {names}: {wrong}"
        )
    tally.kinds[feed] += 1
    tally.ports += (len(plan.inputs) + len(plan.outputs)) * (feed == "rows")
    return interface.header()


def compile_all(headers: list[str], tally: Tally) -> None:
    text = "".join(headers)
    done = subprocess.run(["gcc", *FLAGS], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        tally.findings.setdefault("compiler", done.stderr[:3000])


def line(tally: Tally, seconds: float) -> str:
    counts = ", ".join(f"{tally.kinds[kind]:,} {kind}" for kind in sorted(tally.kinds))
    total = f"{sum(tally.kinds.values()):,} packages, {tally.ports:,} fed ports"
    return f"{seconds:.0f} s: {total}: {counts}; {len(tally.findings)} findings"
