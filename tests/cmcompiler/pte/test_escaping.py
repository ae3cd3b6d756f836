"""Shapes of an instruction's tensors, for messages."""

from __future__ import annotations

from harness.commands import NETWORK

from cmcompiler.pte.escaping import MOST_SHAPES, shapes
from cmcompiler.pte.program import KernelInstruction, TensorList
from cmcompiler.pte.reader import read_program


def first_call() -> tuple[KernelInstruction, list[object]]:
    method = read_program(NETWORK.read_bytes()).methods[0]
    call = next(i for i in method.instructions if isinstance(i, KernelInstruction))
    return call, list(method.values)


def test_each_tensor_is_named_once_and_others_not_at_all() -> None:
    call, values = first_call()
    text = shapes(call, values)
    assert "1, 3, 6, 5" in text
    twice = KernelInstruction(call.operator, (*call.arguments, *call.arguments))
    assert shapes(twice, values) == text
    assert shapes(KernelInstruction(call.operator, ()), values) == "no tensors"


def test_long_lists_are_cut() -> None:
    call, values = first_call()
    tensor = next(i for i in call.arguments if str(values[i]) in shapes(call, values))
    many = [values[tensor]] * (MOST_SHAPES + 3)
    members = TensorList(tuple(range(len(many))))
    text = shapes(KernelInstruction("a::b", (len(many),)), [*many, members])
    assert text.endswith(", …")
    assert text.count(str(values[tensor])) == MOST_SHAPES
