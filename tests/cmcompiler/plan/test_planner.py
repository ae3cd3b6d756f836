"""Plans of graphs: words, memory sharing, ports, peak."""

from itertools import pairwise

import pytest
from harness.toy import Same, Sum, Tail, constant, graph, node, tensor

from cmcompiler.errors import Unsupported
from cmcompiler.ir.op import Address
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.plan import Base, Plan, Ref
from cmcompiler.plan.planner import make_plan

EVERY_INPUT = frozenset({0, 1})


def word(plan: Plan, step: int, name: str) -> int | float | Ref:
    (value,) = [a.value for a in plan.steps[step].arguments if a.name == name]
    return value


def chain(op: Sum, *sizes: int) -> tuple[Plan, list[Tensor]]:
    tensors = [tensor(f"t{i}", size) for i, size in enumerate(sizes)]
    nodes = [node(op, [a], [b]) for a, b in pairwise(tensors)]
    return make_plan(graph(nodes, tensors[:1], tensors[-1:]), Isa.SCALAR), tensors


def test_a_chain_ping_pongs() -> None:
    plan, tensors = chain(Sum(), 64, 64, 64, 64)
    assert plan.arena_bytes == 128 + SLACK
    assert plan.places[tensors[0]] == plan.places[tensors[2]]
    assert word(plan, 1, "input0") == plan.places[tensors[1]]
    assert word(plan, 1, "count") == 64


def test_in_place_ops_share_and_shrink() -> None:
    plan, tensors = chain(Sum(inplace=EVERY_INPUT), 64, 32, 32)
    assert {plan.places[t] for t in tensors} == {Ref(Base.ARENA, 0)}
    assert plan.arena_bytes == 64 + SLACK


def test_in_place_never_grows() -> None:
    plan, tensors = chain(Sum(inplace=EVERY_INPUT), 32, 64)
    assert plan.places[tensors[0]] != plan.places[tensors[1]]


def test_in_place_spares_what_is_used_later() -> None:
    x, y, z = tensor("x", 64), tensor("y", 64), tensor("z", 64)
    op = Sum(inplace=EVERY_INPUT)
    plan = make_plan(graph([node(op, [x], [y]), node(op, [x, y], [z])], [x], [z]), Isa.SCALAR)
    assert plan.places[x] != plan.places[y]
    assert plan.places[z] in (plan.places[x], plan.places[y])


def test_in_place_spares_outputs_and_constants() -> None:
    x, y, z = tensor("x", 64), tensor("y", 64), tensor("z", 64)
    table = constant("table", bytes(range(64)))
    op = Sum(inplace=EVERY_INPUT)
    nodes = [node(op, [x], [y]), node(op, [table], [z])]
    plan = make_plan(graph(nodes, [x], [x, y, z]), Isa.SCALAR)
    assert len({plan.places[t] for t in (x, y, z)}) == 3
    assert plan.places[table].base is Base.CONSTANTS


def test_in_place_refuses_an_operand_that_is_also_read_out_of_order() -> None:
    x, y = tensor("x", 64), tensor("y", 64)
    first_only = Sum(inplace=frozenset({0}))
    plan = make_plan(graph([node(first_only, [x, x], [y])], [x], [y]), Isa.SCALAR)
    assert plan.places[x] != plan.places[y]
    both = Sum(inplace=EVERY_INPUT)
    plan = make_plan(graph([node(both, [x, x], [y])], [x], [y]), Isa.SCALAR)
    assert plan.places[x] == plan.places[y]


def test_in_place_respects_views_that_are_still_read() -> None:
    x, view, y, z = (tensor(name, 64) for name in ("x", "view", "y", "z"))
    op = Sum(inplace=EVERY_INPUT)
    nodes = [node(Same(), [x], [view]), node(op, [x], [y]), node(op, [view, y], [z])]
    plan = make_plan(graph(nodes, [x], [z]), Isa.SCALAR)
    assert plan.places[view] == plan.places[x] != plan.places[y]


def test_views_have_no_step_and_keep_their_memory_alive() -> None:
    x, a, view, b, c = (tensor(name, 64) for name in ("x", "a", "view", "b", "c"))
    nodes = [
        node(Sum(), [x], [a]),
        node(Same(), [a], [view]),
        node(Sum(), [x], [b]),
        node(Sum(), [view, b], [c]),
    ]
    plan = make_plan(graph(nodes, [x], [c]), Isa.SCALAR)
    assert [step.node for step in plan.steps] == [0, 2, 3]
    assert word(plan, 2, "input0") == plan.places[a]
    assert plan.places[a] != plan.places[b]


def test_a_view_of_a_part_lies_behind_the_start() -> None:
    x, tail, y = tensor("x", 64), tensor("tail", 32), tensor("y", 32)
    table = constant("table", bytes(range(48)))
    end = tensor("end", 16)
    nodes = [
        node(Tail(32), [x], [tail]),
        node(Tail(32), [table], [end]),
        node(Sum(), [tail, end], [y]),
    ]
    plan = make_plan(graph(nodes, [x], [y]), Isa.SCALAR)
    assert word(plan, 0, "input0") == Ref(Base.ARENA, plan.places[x].offset + 32)
    assert word(plan, 0, "input1") == Ref(Base.CONSTANTS, 32)


def test_no_op_takes_over_the_memory_of_a_part() -> None:
    op = Sum(inplace=EVERY_INPUT)
    for part, size in [(Tail(32), 64), (Tail(0), 64)]:
        x, view, y = tensor("x", size), tensor("view", 32), tensor("y", 32 if part.offset else 64)
        plan = make_plan(
            graph([node(part, [x], [view]), node(op, [view], [y])], [x], [y]), Isa.SCALAR
        )
        assert plan.places[y] != plan.places[x]


def test_constants_are_read_where_they_are() -> None:
    x, y, table = tensor("x", 32), tensor("y", 32), constant("table", bytes(range(32)))
    op = Sum(table=bytes(range(32)))
    plan = make_plan(graph([node(op, [x, table], [y])], [x], [y]), Isa.SCALAR)
    assert word(plan, 0, "input1") == word(plan, 0, "table") == Ref(Base.CONSTANTS, 0)
    assert plan.constants == bytes(range(32)) + bytes(SLACK)


def test_ports_may_be_inputs_constants_and_views() -> None:
    x, view, table = tensor("x", 32), tensor("view", 32), constant("table", b"answer")
    plan = make_plan(graph([node(Same(), [x], [view])], [x], [x, view, table]), Isa.SCALAR)
    assert plan.steps == () and plan.peak is None
    assert plan.places[view] == plan.places[x] == Ref(Base.ARENA, 0)
    assert plan.places[table] == Ref(Base.CONSTANTS, 0)
    assert plan.arena_bytes == 32 + SLACK


def test_an_input_that_no_op_reads_still_has_a_place() -> None:
    x, unused, y = tensor("x", 32), tensor("unused", 32), tensor("y", 32)
    plan = make_plan(graph([node(Sum(), [x], [y])], [x, unused], [y]), Isa.SCALAR)
    assert plan.places[unused] != plan.places[x]


def test_zero_size_tensors_take_no_memory() -> None:
    x, empty, y = tensor("x", 32), tensor("empty", 0), tensor("y", 32)
    nodes = [node(Sum(), [x], [empty]), node(Sum(), [x, empty], [y])]
    plan = make_plan(graph(nodes, [x], [y]), Isa.SCALAR)
    assert plan.arena_bytes == 64 + SLACK


def test_scratch_lives_for_one_call() -> None:
    plan, tensors = chain(Sum(scratch=(160, 32)), 64, 64, 64)
    assert plan.arena_bytes == 64 + 64 + 160 + 32 + SLACK
    taken = {word(plan, 0, name) for name in ("input0", "output0", "scratch0", "scratch1")}
    assert len(taken) == 4
    assert plan.peak is not None
    assert (plan.peak.size, plan.peak.scratch) == (320, 192)
    assert set(plan.peak.tensors) == set(tensors[:2])


def test_an_op_of_several_calls_is_complete_after_the_last() -> None:
    plan, tensors = chain(Sum(calls=3, macs=7), 64, 64)
    assert [step.writes for step in plan.steps] == [(), (), (tensors[1],)]
    assert [step.macs for step in plan.steps] == [0, 0, 7]
    assert plan.macs == 7


def test_one_inexact_op_makes_what_follows_inexact() -> None:
    x, a, b, c = (tensor(name, 16) for name in "xabc")
    nodes = [node(Sum(), [x], [a]), node(Sum(exact=False), [x], [b]), node(Sum(), [b], [c])]
    plan = make_plan(graph(nodes, [x], [a, c]), Isa.SCALAR)
    assert [step.exact for step in plan.steps] == [True, False, False]
    assert plan.exact_outputs == (True, False) and not plan.exact


def test_placement_names_the_instruction_set() -> None:
    x, y = tensor("x", 16), tensor("y", 16)
    toy = graph([node(Sum(microkernel=Microkernel("toy", dsp=True)), [x], [y])], [x], [y])
    for isa, provider, fallback in [
        (Isa.SCALAR, Isa.SCALAR, None),
        (Isa.DSP, Isa.DSP, None),
        (Isa.MVE, Isa.DSP, "toy has no mve version; dsp is used"),
    ]:
        plan = make_plan(toy, isa)
        assert plan.steps[0].provider is provider
        assert plan.fallback(plan.steps[0]) == fallback


def test_words_are_what_c_reads() -> None:
    plan, _ = chain(Sum(), 64, 64)
    by_name = {argument.name: argument.word for argument in plan.steps[0].arguments}
    assert by_name["table"] == 0x80000000
    assert by_name["count"] == 64


def test_an_arena_that_no_board_has_is_refused() -> None:
    half = 128 << 20
    with pytest.raises(Unsupported, match="268,435,456 bytes at once, more than 256 MiB"):
        chain(Sum(), half, half)


def test_a_tensor_that_no_board_holds_is_refused_before_its_op_is_asked() -> None:
    x, y = tensor("x", 16), tensor("y", 256 << 20)
    with pytest.raises(Unsupported, match="y needs 268,435,456 bytes, more than 256 MiB"):
        make_plan(graph([node(Sum(extra=2**40), [x], [y])], [x], [y]), Isa.SCALAR)


@pytest.mark.parametrize("value", [2**32, -(2**31) - 1])
def test_a_word_beyond_32_bits_names_its_kernel(value: int) -> None:
    x, y = tensor("x", 16), tensor("y", 16)
    with pytest.raises(ValueError, match=f"kernel sum: {value} does not fit 32 bits"):
        make_plan(graph([node(Sum(extra=value), [x], [y])], [x], [y]), Isa.SCALAR)


def test_an_address_outside_of_its_tensor_names_it() -> None:
    x, y = tensor("x", 16), tensor("y", 16)
    with pytest.raises(ValueError, match="kernel sum: offset 17 lies outside x"):
        make_plan(graph([node(Sum(extra=Address(x, 17)), [x], [y])], [x], [y]), Isa.SCALAR)
