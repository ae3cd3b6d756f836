"""Steps of nodes, and what skips them."""

from __future__ import annotations

from dataclasses import replace

from harness.toy import Sum, node, tensor

from cmcompiler.ir.graph import Guard, Node
from cmcompiler.ir.op import KernelCall
from cmcompiler.isa import Isa
from cmcompiler.plan.schedule import BranchStart, make_schedule

CONDITION = tensor("condition", 1)
YES, NO = (Guard(CONDITION, taken, "JumpFalseCall #1") for taken in (True, False))


def adding(calls: int, *guards: Guard) -> tuple[Node, list[KernelCall]]:
    made = node(Sum(calls=calls), [tensor("a", 4)], [tensor("b", 4)])
    whole = made.op.kernel_calls(made.inputs, made.outputs, Isa.SCALAR)
    return replace(made, guards=guards), list(whole)


def test_nodes_take_as_many_steps_as_calls() -> None:
    nodes, calls = zip(adding(1), adding(2), adding(0), strict=True)
    schedule = make_schedule(nodes, calls)
    assert schedule.spans == (range(1), range(1, 3), range(3, 3))
    assert schedule.times == schedule.spans
    assert [entry.node for entry in schedule.entries] == [0, 1, 1]


def test_each_way_of_a_branch_is_skipped_as_a_whole() -> None:
    nodes, calls = zip(
        adding(1), adding(2, YES), adding(1, YES, NO), adding(1, NO), adding(1), strict=True
    )
    actions = [entry.action for entry in make_schedule(nodes, calls).entries]
    starts = {i: a.count for i, a in enumerate(actions) if isinstance(a, BranchStart)}
    assert starts == {1: 4, 4: 1, 6: 1}
    assert make_schedule(nodes, calls).spans == (
        *(range(1), range(2, 4), range(5, 6), range(7, 8), range(8, 9)),
    )


def test_a_branch_without_steps_is_not_tested() -> None:
    nodes, calls = zip(adding(0, YES), adding(1), strict=True)
    assert len(make_schedule(nodes, calls).entries) == 1
