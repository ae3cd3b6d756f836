"""Branches in a plan: which steps they skip, and where their results go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from harness.toy import Same, Sum, Tail, constant, graph, node, tensor

from cmcompiler.ir.graph import Guard, Node
from cmcompiler.ir.op import Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.branch import Merge, Move
from cmcompiler.plan.abi import CONTROL_BRANCH, SLACK
from cmcompiler.plan.plan import Plan, PlanStep
from cmcompiler.plan.planner import make_plan

SUM = Sum()


def flag(name: str) -> Tensor:
    return Tensor(name, np.dtype(np.bool_), ())


def inside(nodes: list[Node], condition: Tensor, expected: bool) -> list[Node]:
    guard = Guard(condition, expected, f"jump on {condition.name}")
    return [replace(each, guards=(guard, *each.guards)) for each in nodes]


Way = tuple[list[Node], Tensor]
"""Nodes and their result."""


def branch(condition: Tensor, *ways: Way) -> Way:
    """A branch: the first way runs if the condition is true, the second if it is false."""
    merged, moved, nodes = tensor("merged", 64), [], []
    for (way, result), expected in zip(ways, (True, False), strict=True):
        moved.append(tensor(f"moved when {expected}", 64))
        nodes += inside([*way, node(Move(), [result], [moved[-1]])], condition, expected)
    return [*nodes, node(Merge(), [condition, *moved], [merged])], merged


def computing(source: Tensor, name: str, op: Op = SUM) -> Way:
    result = tensor(name, 64)
    return [node(op, [source], [result])], result


def kernels(plan: Plan) -> list[str]:
    return [step.kernel for step in plan.steps]


def words(step: PlanStep) -> dict[str, object]:
    return {argument.name: argument.value for argument in step.arguments}


def test_each_way_is_left_out_unless_its_condition_holds() -> None:
    condition, x = flag("condition"), tensor("x", 64)
    nodes, merged = branch(condition, computing(x, "a", Sum(calls=3)), computing(x, "b"))
    plan = make_plan(graph(nodes, [condition, x], [merged]), Isa.SCALAR)
    assert kernels(plan) == ["branch", "sum", "sum", "sum", "branch", "sum"]
    for index, expected, count in ((0, 1, 3), (4, 0, 1)):
        step = plan.steps[index]
        place = plan.places[condition]
        assert words(step) == {
            "control": CONTROL_BRANCH,
            "condition": place,
            "expected": expected,
            "count": count,
        }
        assert (step.title, step.source, step.writes) == ("branch", "jump on condition", ())


def test_a_branch_in_a_branch_is_left_out_with_it() -> None:
    outer, inner, x = flag("outer"), flag("inner"), tensor("x", 64)
    nested = branch(inner, computing(x, "a"), computing(x, "b"))
    nodes, merged = branch(outer, nested, computing(x, "c"))
    plan = make_plan(graph(nodes, [outer, inner, x], [merged]), Isa.SCALAR)
    assert kernels(plan) == ["branch", "branch", "sum", "branch", "sum", "branch", "sum"]
    assert [words(step)["count"] for step in plan.steps if step.is_branch] == [4, 1, 1, 1]


def test_results_are_computed_where_they_are_merged() -> None:
    outer, inner, x = flag("outer"), flag("inner"), tensor("x", 64)
    a, b, c = (computing(x, name) for name in "abc")
    nodes, merged = branch(outer, branch(inner, a, b), c)
    plan = make_plan(graph(nodes, [outer, inner, x], [merged]), Isa.SCALAR)
    assert {plan.places[result] for _, result in (a, b, c)} == {plan.places[merged]}
    assert plan.arena_bytes == 64 + 64 + 2 * 16 + SLACK


def test_what_comes_from_elsewhere_is_copied() -> None:
    """An input, a constant, the end of something larger, the result of another branch."""
    condition, x = flag("condition"), tensor("x", 64)
    table, end, large = constant("table", bytes(64)), tensor("end", 64), tensor("large", 128)
    tail: Way = ([node(SUM, [x], [large]), node(Tail(64), [large], [end])], end)
    first, result = branch(condition, ([], x), ([], table))
    second, other = branch(condition, tail, ([], result))
    plan = make_plan(graph([*first, *second], [condition, x], [x, result, other]), Isa.SCALAR)
    assert kernels(plan) == ["branch", "copy"] * 2 + ["branch", "sum", "copy", "branch", "copy"]
    assert len({plan.places[t] for t in (x, result, other)}) == 3


def test_one_result_may_go_to_two_places() -> None:
    condition, x = flag("condition"), tensor("x", 64)
    (compute,), a = computing(x, "a")
    first, one = branch(condition, ([compute], a), ([], x))
    (again, _) = inside([node(Move(), [a], [tensor("again", 64)])] * 2, condition, True)
    other = inside([node(Move(), [x], [tensor("x again", 64)])], condition, False)
    two = tensor("two", 64)
    merge = node(Merge(), [condition, again.outputs[0], other[0].outputs[0]], [two])
    nodes = [*first[:2], again, first[2], *other, first[3], merge]
    plan = make_plan(graph(nodes, [condition, x], [one, two]), Isa.SCALAR)
    assert kernels(plan) == ["branch", "sum", "copy", "branch", "copy", "copy"]
    assert plan.places[one] != plan.places[two]


def test_conditions_stay_until_the_last_way() -> None:
    """The false way begins after the true one has used the memory."""
    x, condition = tensor("x", 64), tensor("condition", 16)
    condition = replace(condition, dtype=np.dtype(np.bool_))
    make = node(SUM, [x], [condition])
    nodes, merged = branch(condition, computing(x, "a"), computing(x, "b"))
    plan = make_plan(graph([make, *nodes], [x], [merged]), Isa.SCALAR)
    place = plan.places[condition].offset
    for step in plan.steps[1:]:
        for written in step.writes:
            start = plan.places[written].offset
            assert place + 16 <= start or start + written.nbytes <= place


def test_no_op_of_a_way_takes_over_what_the_other_way_reads() -> None:
    condition, x, a = flag("condition"), tensor("x", 64), tensor("a", 64)
    make = node(SUM, [x], [a])
    in_place = Sum(inplace=frozenset({0}))
    for first, second in ((in_place, SUM), (SUM, in_place)):
        nodes, merged = branch(condition, computing(a, "b", first), computing(a, "c", second))
        plan = make_plan(graph([make, *nodes], [condition, x], [merged]), Isa.SCALAR)
        assert plan.places[merged] != plan.places[a]


def test_what_depends_on_an_inexact_condition_is_inexact() -> None:
    x, condition = tensor("x", 64), flag("condition")
    make = node(Sum(exact=False), [x], [condition])
    nodes, merged = branch(condition, computing(x, "a"), computing(x, "b"))
    plan = make_plan(graph([make, *nodes], [x], [merged, x]), Isa.SCALAR)
    assert plan.exact_outputs == (False, True)


def test_a_way_without_steps_has_no_branch() -> None:
    condition, x, same = flag("condition"), tensor("x", 64), tensor("same", 64)
    way = inside([node(Same(), [x], [same])], condition, True)
    plan = make_plan(graph(way, [condition, x], [x]), Isa.SCALAR)
    assert plan.steps == ()
