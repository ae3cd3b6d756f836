"""Plans that run in streams wherever that takes less memory, at any cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cmcompiler.errors import Unsupported
from cmcompiler.isa import Isa
from cmcompiler.plan import choice, planner
from cmcompiler.plan.drain import drain_rows
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.planner import make_plan
from cmcompiler.plan.streams.stream import Stream
from harness.examples import Example


def streamed(example: Example, isa: Isa, upward: bool = False) -> tuple[Plan, list[Stream]]:
    """The plan with the least memory, and its streams.

    Args:
        upward: let all groups begin with the last rows that can.
    """
    collected: list[Stream] = []
    with pytest.MonkeyPatch.context() as patch:
        make = planner._stream_step

        def watched(node, start, resolver):  # type: ignore[no-untyped-def]
            collected.append(start.stream)
            return make(node, start, resolver)

        patch.setattr(planner, "_stream_step", watched)
        if upward:
            patch.setattr(choice, "directed", lambda ways: tuple(way[-1] for way in ways))
        return make_plan(example.graph, isa, PlanOptions(surcharge=float("inf"))), collected


def fed(
    example: Example, isa: Isa, drain: bool = False
) -> tuple[Example, Plan, list[Stream]] | None:
    """The same with inputs that come row by row; None if no stream spends their rows.

    Args:
        drain: let outputs go row by row too.
    """
    graph = feed_rows(example.graph)
    example = replace(example, graph=drain_rows(graph) if drain else graph)
    try:
        return example, *streamed(example, isa)
    except Unsupported:
        return None
