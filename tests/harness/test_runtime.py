"""Batches run on every kind of machine, and every wrong result is detected."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.emit.harness_batch import Case
from cmcompiler.ir.op import Address, KernelCall, Op, Word
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.activation import Activation
from cmcompiler.plan.plan import Base, Plan, Ref, Span
from cmcompiler.plan.planner import make_plan
from harness.calls import In, Out, calling
from harness.examples import single
from harness.runtime import Machine, Runtime, is_apart

NEGATE = Activation(bytes((-x) & 0xFF for x in range(-128, 128)))


def numbers(count: int, seed: int = 0) -> npt.NDArray[np.int8]:
    return np.random.default_rng(seed).integers(-128, 128, count, dtype=np.int8)


@dataclass(frozen=True)
class Forged(Op):
    """NEGATE with some arguments replaced, as if its kernel were wrong.

    Attributes:
        changes: new values; `input` and `output` stand for the places of these tensors.
        afterwards: runs after the correct call.
    """

    changes: tuple[tuple[str, int | str], ...]
    afterwards: bool = False

    label = "forged"

    def reference(self, *inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        return NEGATE.reference(*inputs)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        (call,) = NEGATE.kernel_calls(inputs, outputs, isa)
        places: dict[int | str, Word] = {"input": Address(inputs[0]), "output": Address(outputs[0])}
        changes = {name: places.get(word, word) for name, word in self.changes}
        words = [(name, changes.get(name, word)) for name, word in call.arguments]
        forged = replace(call, arguments=words)
        return [call, forged] if self.afterwards else [forged]


class Renamed(Activation):
    """An op whose words are right but named differently than in C."""

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        (call,) = super().kernel_calls(inputs, outputs, isa)
        return [replace(call, arguments=[(f"{name}s", word) for name, word in call.arguments])]


@pytest.fixture(scope="module")
def machine(machine: Machine) -> Machine:
    return machine.repeating


def test_what_has_no_code_of_its_own_on_a_set_is_left_to_the_others() -> None:
    """DSP has no form of a table's loop, and none of the loops of sorting."""
    tables = (make_plan(single(NEGATE, numbers(4)).graph, isa) for isa in Isa)
    assert [is_apart(plan) for plan in tables] == [True, False, True]
    outputs = Out("int8", (4,)), Out("int64", (4,))
    ordered = calling("aten::sort.values", In(numbers(4)), 0, False, *outputs)
    assert [is_apart(make_plan(ordered.graph, isa)) for isa in Isa] == [False, False, True]


@settings(max_examples=5)
@given(st.lists(st.integers(1, 700), min_size=1, max_size=30))
def test_a_batch_of_cases_gives_what_the_reference_gives(
    machine: Machine, counts: list[int]
) -> None:
    Runtime(machine).check(*(single(NEGATE, numbers(n, seed)) for seed, n in enumerate(counts)))


def test_a_wrong_element_is_noticed(machine: Machine) -> None:
    example = single(Forged((("count", 99),)), numbers(100))
    with pytest.raises(AssertionError, match=r"1 of 100 elements differ, the first at \(99,\)"):
        Runtime(machine).check(example)


def test_a_stray_write_is_noticed(machine: Machine) -> None:
    example = single(Forged((("count", 101),)), numbers(100))
    with pytest.raises(AssertionError, match="wrote 1 bytes that are not its own"):
        Runtime(machine).check(example)


def test_a_changed_input_is_noticed(machine: Machine) -> None:
    data = numbers(100)
    changed = np.count_nonzero(data != NEGATE.reference(data)[0])
    example = single(Forged((("output", "input"),), afterwards=True), data)
    with pytest.raises(AssertionError, match=f"wrote {changed} bytes that are not its own"):
        Runtime(machine).check(example)


def test_fields_that_are_not_the_kernels_are_noticed(machine: Machine) -> None:
    example = single(Renamed(NEGATE.table), numbers(4))
    with pytest.raises(AssertionError, match="not the fields of cm_activation_s8"):
        Runtime(machine).check(example)


def test_checks_are_checksums_after_their_step(machine: Machine) -> None:
    data = numbers(100)
    plan = make_plan(single(NEGATE, data).keeping_inputs.graph, machine.isa)
    source, result = plan.inputs[0].tensor, plan.outputs[0].tensor
    spans = [Span(plan.places[tensor], 100) for tensor in (source, result)]
    case = Case(plan, (data.tobytes(),), (), tuple((0, span) for span in spans))
    (actual,) = machine.execute([case])
    (negated,) = NEGATE.reference(data)
    assert actual.checksums == (zlib.crc32(data.tobytes()), zlib.crc32(negated.tobytes()))
    assert actual.outputs == ()


def test_an_unknown_kernel_is_named_before_any_case_runs(machine: Machine) -> None:
    plan = make_plan(single(NEGATE, numbers(4)).graph, machine.isa)
    unknown = replace(plan, steps=(replace(plan.steps[0], kernel="unheard_of"),))
    with pytest.raises(AssertionError, match="no kernel unheard_of"):
        machine.execute([_bare(plan), _bare(unknown)])


def test_a_crash_is_blamed_on_its_case(machine: Machine) -> None:
    plan = make_plan(single(NEGATE, numbers(4)).graph, machine.isa)
    step = plan.steps[0]
    wild = tuple(
        replace(a, value=Ref(Base.ARENA, 0x7FFFFFF0)) if a.name == "output" else a
        for a in step.arguments
    )
    crash = replace(plan, steps=(replace(step, arguments=wild),))
    with pytest.raises(AssertionError, match=r"case 1 \(activation by cm_activation_s8\)"):
        machine.execute([_bare(plan), _bare(crash), _bare(plan)])


def _bare(plan: Plan) -> Case:
    return Case(plan, (bytes(4),), ())
