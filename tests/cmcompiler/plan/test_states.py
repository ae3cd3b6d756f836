"""Mutable buffers in a plan: their own memory, written in place where safe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from harness.programs import program_graph
from harness.states import NAMES
from harness.toy import Same, Sum, Tail, graph, node, tensor

from cmcompiler.ir.graph import Graph, MutableBuffer, Node
from cmcompiler.ir.movement.store import Store
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.plan import Base, Plan, Ref
from cmcompiler.plan.planner import make_plan

IN_PLACE = Sum(inplace=frozenset({0}))
INITIAL = np.arange(64, dtype=np.int8)


def stored(state: Tensor, value: Tensor) -> tuple[Node, Tensor]:
    after = tensor(f"{state.name}.1", state.nbytes)
    return node(Store(), [state, value], [after]), after


def planned(made: Graph, state: Tensor, final: Tensor, initial: np.ndarray = INITIAL) -> Plan:
    return make_plan(replace(made, states=(MutableBuffer(state, final, initial),)), Isa.SCALAR)


def kernels(plan: Plan) -> list[str]:
    return [step.kernel for step in plan.steps]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_lies_where_a_state_is_but_what_it_becomes(name: str) -> None:
    program = program_graph(name)
    plan = make_plan(program, Isa.MVE)
    becoming = {node.inputs[1] for node in program.nodes if isinstance(node.op, Store)}
    for view in reversed(program.nodes):
        if view.op.view_of is not None and view.outputs[0] in becoming:
            becoming.add(view.inputs[0])
    becoming.update(t for n in program.nodes if isinstance(n.op, Store) for t in n.outputs)
    written = {tensor for step in plan.steps for tensor in step.writes}
    written.update(port.tensor for port in plan.inputs)
    assert plan.state_bytes == sum(state.tensor.nbytes for state in program.states)
    for buffer in plan.states:
        start, end = buffer.span.ref.offset, buffer.span.ref.offset + buffer.span.size
        for other in written - becoming:
            first = plan.places[other].offset
            assert first + other.nbytes <= start or end <= first, other.name


def test_a_state_is_computed_in_its_place() -> None:
    x, state, y = tensor("x", 64), tensor("state", 64), tensor("y", 64)
    store, after = stored(state, y)
    plan = planned(graph([node(IN_PLACE, [state, x], [y]), store], [x], [y]), state, after)
    assert kernels(plan) == ["sum"]
    assert plan.places[y] == plan.places[state]
    assert plan.arena_bytes == 128 + SLACK


@pytest.mark.parametrize("read", ["with the value", "after it", "by a view", "a part"])
def test_a_state_that_is_still_read_is_written_afterwards(read: str) -> None:
    x, state, y, z = (tensor(name, 64) for name in ("x", "state", "y", "z"))
    store, after = stored(state, y)
    nodes = [node(Sum() if read == "with the value" else IN_PLACE, [state, x], [y])]
    if read == "after it":
        nodes.append(node(Sum(), [state], [z]))
    elif read != "with the value":
        view = tensor("view", 64 if read == "by a view" else 32)
        op = Same() if read == "by a view" else Tail(32)
        nodes += [node(op, [state], [view]), node(Sum(), [view], [z])]
    else:
        nodes.append(node(Sum(), [x], [z]))
    plan = planned(graph([*nodes, store], [x], [y, z]), state, after)
    assert kernels(plan) == ["sum", "sum", "copy"]
    assert plan.places[y] != plan.places[state] == plan.places[after]


def test_an_input_is_copied_into_its_state() -> None:
    x, state, y = tensor("x", 64), tensor("state", 64), tensor("y", 64)
    store, after = stored(state, x)
    plan = planned(graph([node(Sum(), [state], [y]), store], [x], [y]), state, after)
    assert kernels(plan) == ["sum", "copy"]
    assert len({plan.places[t] for t in (x, state, y)}) == 3


def test_a_state_that_is_written_twice_is_written_by_copies() -> None:
    x, state, y, z = (tensor(name, 64) for name in ("x", "state", "y", "z"))
    first, between = stored(state, y)
    second, after = stored(between, z)
    nodes = [node(Sum(), [x], [y]), first, node(Sum(), [between], [z]), second]
    plan = planned(graph(nodes, [x], [y, z]), state, after)
    assert kernels(plan) == ["sum", "copy", "sum", "copy"]
    assert len({plan.places[t] for t in (y, z, state)}) == 3


def test_no_op_takes_over_the_memory_of_a_state() -> None:
    x, state, y = tensor("x", 64), tensor("state", 64), tensor("y", 64)
    plan = planned(graph([node(IN_PLACE, [state, x], [y])], [x], [y]), state, state)
    assert plan.places[y] != plan.places[state]


def test_zeros_need_no_constants() -> None:
    x, state, y = tensor("x", 64), tensor("state", 64), tensor("y", 64)
    made = graph([node(Sum(), [state, x], [y])], [x], [y])
    (kept,) = planned(made, state, state).states
    assert kept.initial is not None and kept.initial.base is Base.CONSTANTS
    plan = planned(made, state, state, np.zeros(64, np.int8))
    assert plan.states[0].initial is None and len(plan.constants) == SLACK
    assert plan.states[0].span.ref == plan.places[state]
    assert isinstance(plan.places[state], Ref)


def test_what_one_run_leaves_inexact_makes_the_next_one_inexact() -> None:
    x, state, y, z = (tensor(name, 64) for name in ("x", "state", "y", "z"))
    store, after = stored(state, z)
    nodes = [node(Sum(), [state], [y]), node(Sum(exact=False), [x], [z]), store]
    plan = planned(graph(nodes, [x], [y]), state, after)
    assert plan.exact_outputs == (False,)
