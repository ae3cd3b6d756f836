"""RAM against instructions: the plans of a graph within smaller and smaller budgets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from cmcompiler.ir.graph import Graph
from cmcompiler.isa import Isa
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.borrowing import borrow
from cmcompiler.plan.draft import ARENA_LIMIT, Draft
from cmcompiler.plan.drafting import Drafting
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.planner import plan_of

NEXT = 0.87
"""Share of a point's arena that the next smaller one may take."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A plan, and the budget with which `make_plan` makes it."""

    budget: int
    plan: Plan


@dataclass(frozen=True, slots=True)
class RamCurve:
    """RAM against instructions.

    Attributes:
        usual: bytes of arena without a budget.
        points: from the fastest plan to the smallest one; each next one is smaller and takes
            longer, by the planner's estimate.
    """

    usual: int
    points: tuple[CurvePoint, ...]


def ram_curve(graph: Graph, isa: Isa, options: PlanOptions) -> RamCurve:
    """
    Args:
        options: all but the budget.

    Raises:
        Unsupported: as `make_plan` without a budget.
    """
    drafting = Drafting(borrow(graph, isa), isa, options)
    usual = _bytes(drafting.nearest(None))
    points: list[CurvePoint] = []
    fastest = inf
    for budget, draft in sorted(_drafts(drafting, usual), key=lambda each: each[0]):
        cost = drafting.cost(draft)
        if cost < fastest:
            fastest = cost
            points.append(CurvePoint(budget, plan_of(draft)))
    return RamCurve(usual, tuple(points[::-1]))


def _drafts(drafting: Drafting, usual: int) -> Iterator[tuple[int, Draft]]:
    """Budgets and what they give: the fastest draft, one as small as usual, and smaller ones down
    to the smallest.
    """
    most, least = (_bytes(drafting.nearest(budget)) for budget in (ARENA_LIMIT, SLACK))
    yield most, drafting.within(most)
    budget = min(usual, most)
    while budget > least:
        draft = drafting.within(budget)
        yield budget, draft
        budget = int(NEXT * _bytes(draft))
    yield least, drafting.within(least)


def _bytes(draft: Draft) -> int:
    return draft.size + SLACK
