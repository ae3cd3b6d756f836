"""Plans of random graphs in random memory: bands, runs and strips that fit, with right bits."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from harness.examples import Example
from harness.fed_graphs import fed_graphs
from harness.image_graphs import image_graphs, viewed
from harness.run_graphs import pooled_graphs, run_graphs
from harness.runtime import Machine, case_of, first_mistake
from harness.structs import check_words
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from cmcompiler.errors import CompilerError
from cmcompiler.importer.pruning import pruned
from cmcompiler.isa import Isa
from cmcompiler.ops.add import Add
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.borrowing import borrow
from cmcompiler.plan.draft import Draft
from cmcompiler.plan.drafting import Drafting, OverBudget
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.planner import plan_of
from cmcompiler.plan.runs.run import Run, TiledRun
from cmcompiler.plan.runs.slices import SlicedRun
from cmcompiler.plan.strips import is_striped

FEEDS = (None, "whole", "rows", "again", "again")

BATCH = 40
"""Plans that run in one start of an image."""

GRAPHS = st.one_of(
    *(run_graphs(), run_graphs(), run_graphs(), run_graphs()),
    *(image_graphs(), image_graphs().map(viewed), fed_graphs(), pooled_graphs()),
)


def _runs(draft: Draft, kind: type[Run]) -> bool:
    return any(isinstance(node.op, kind) for node in draft.graph.nodes)


def _bands(draft: Draft) -> bool:
    return any(band > 1 for stream in draft.streams for band in stream.bands)


def _shared_rings(draft: Draft) -> bool:
    return any(guest in stream.rings for stream in draft.streams for guest in stream.hosts)


def _sums_in_place(draft: Draft) -> bool:
    hosts = {host for stream in draft.streams for host in stream.hosts.values()}
    return any(isinstance(n.op, Add) and n.outputs[0] in hosts for n in draft.graph.nodes)


def _takeovers(draft: Draft) -> bool:
    return any(stream.takeover for stream in draft.streams)


KINDS: Mapping[str, Callable[[Draft], bool]] = {
    "in bands": _bands,
    "in runs of tiles": lambda draft: _runs(draft, TiledRun),
    "in runs of slices": lambda draft: _runs(draft, SlicedRun),
    "in strips": lambda draft: is_striped(draft.graph),
    "in rows of inputs": _takeovers,
    "with shared rings": _shared_rings,
    "with sums in place": _sums_in_place,
}
"""Kinds of plans, by what they are called in a tally."""

Planned = tuple[Example, Plan, str]
"""An example, one of its plans, and how that was asked for."""


@dataclass
class Tally:
    """What became of the plans so far.

    Attributes:
        kinds: plans on each instruction set, of each of KINDS; graphs refused.
        findings: by a signature.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    findings: dict[str, str] = field(default_factory=dict)


def fuzz_plans(
    count: int,
    seed: int,
    machines: Mapping[Isa, Machine],
    tally: Tally,
    graphs: st.SearchStrategy[Example] = GRAPHS,
) -> None:
    """Plans of so many graphs, one in turn for each machine; the same from the same seed."""
    waiting: dict[Isa, list[Planned]] = {isa: [] for isa in machines}
    chance, turn = random.Random(seed), 0

    @seeded(seed)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(example=graphs)
    def planned(example: Example) -> None:
        nonlocal turn
        isa = list(machines)[turn % len(machines)]
        turn += 1
        waiting[isa] += _plans(example, isa, chance, tally)
        if len(waiting[isa]) >= BATCH:
            _run(machines[isa], waiting.pop(isa), tally)
            waiting[isa] = []

    planned()
    for isa, plans in waiting.items():
        _run(machines[isa], plans, tally)


def _plans(example: Example, isa: Isa, chance: random.Random, tally: Tally) -> list[Planned]:
    """A plan without a budget, the smallest one, and one between them."""
    streams = chance.random() < 0.9
    options = PlanOptions(
        streams=streams,
        feed=chance.choice(FEEDS if streams else FEEDS[:2]),
        wide=isa is Isa.DSP and chance.random() < 0.1,
        surcharge=chance.choice((0.0, 0.03, 0.3, 3.0)),
    )
    titles = ", ".join(f"{n.op.title} {n.outputs[0].shape}" for n in example.graph.nodes)
    named = f"{titles}: {isa.label}, {options}"
    example = replace(example, graph=pruned(example.graph))
    plans: list[Planned] = []
    try:
        drafting = Drafting(borrow(example.graph, isa), isa, options)
        usual, least = (drafting.nearest(budget).size + SLACK for budget in (None, 0))
        most = max(least, usual)
        tight = least + (most - least) // 4
        within = (
            chance.randint(least, tight),
            chance.randint(least, most),
            chance.randint(most, 2 * most),
        )
        for budget in (None, least, *within):
            draft = drafting.within(budget)
            plan = plan_of(draft)
            check_words(plan)
            assert budget is None or plan.arena_bytes <= budget, (plan.arena_bytes, budget)
            plans.append((example, plan, f"{named} within {budget}"))
            tally.kinds[isa.label] += 1
            tally.kinds.update(kind for kind, is_one in KINDS.items() if is_one(draft))
    except OverBudget as error:
        tally.findings.setdefault("over budget", f"{named}: {error}")
    except CompilerError:
        tally.kinds["refused"] += 1
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        signature = f"{type(error).__name__} in {place.name}"
        tally.findings.setdefault(signature, f"{named}: {traceback.format_exc()}")
    return plans


def _run(machine: Machine, plans: list[Planned], tally: Tally) -> None:
    cases = [case_of(plan, example) for example, plan, _ in plans]
    try:
        results = machine.execute(cases) if cases else []
    except AssertionError as error:
        tally.findings.setdefault(f"stopped on {machine.isa.label}", str(error))
        return
    for case, (example, _, named), result in zip(cases, plans, results, strict=True):
        wrong = first_mistake(case, example, result)
        if wrong is not None:
            tally.findings.setdefault(f"wrong on {machine.isa.label}", f"{named}: {wrong}")


def line(tally: Tally, seconds: float) -> str:
    counts = ", ".join(f"{tally.kinds[kind]:,} {kind}" for kind in sorted(tally.kinds))
    return f"{seconds:.0f} s: {counts}; {len(tally.findings)} findings"
