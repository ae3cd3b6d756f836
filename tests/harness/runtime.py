"""Checks every kernel, natively and on simulators, against the reference."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from cmbuild.conformance.harness import LOG, KernelHarness, Stopped
from cmbuild.packaging.runtime_sources import needed_sources
from cmbuild.verify.tolerance import differences
from cmcompiler.emit.harness_batch import Case, CaseResult, to_array
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.plan.plan import Base, Plan, Ref, Span
from cmcompiler.plan.planner import make_plan
from harness.examples import Array, Example
from harness.structs import check_words

POISON = 0xA5
"""The kernel harness fills the arena with it."""

TIMEOUT = 600.0

Planned = tuple[Plan, Example]


class Machine:
    """The kernel harness on one board with one instruction set.

    Args:
        name: for messages.
        folder: for the files of each run; those of a failed one are kept.
        repeats: whether it also runs what the machine of another instruction set runs, compiled
            from the same files.
    """

    def __init__(
        self, name: str, harness: KernelHarness, isa: Isa, folder: Path, *, repeats: bool = True
    ) -> None:
        self.name = name
        self.isa = isa
        self.repeats = repeats
        self._harness = harness
        self._folder = folder

    @property
    def repeating(self) -> Machine:
        """The same, which runs all that it is given."""
        return Machine(self.name, self._harness, self.isa, self._folder)

    def execute(self, cases: Sequence[Case]) -> list[CaseResult]:
        """Runs planned programs in one start of the image.

        Raises:
            AssertionError: the image stopped; names the machine, the case and the reason.
        """
        folder = Path(mkdtemp(dir=self._folder))
        try:
            results = self._harness.run(cases, folder, TIMEOUT)
        except Stopped as error:
            steps = _steps(cases[error.case].plan)
            log = (folder / LOG).read_text()[-4000:]
            message = f"{self.name}: case {error.case} ({steps}): {error}\n{log}"
            raise AssertionError(message) from error
        shutil.rmtree(folder)
        return results

    def mistakes(self, planned: Sequence[Planned]) -> list[str]:
        """Describes each example that is wrong on this machine."""
        cases = [case_of(plan, example) for plan, example in planned]
        results = self.execute(cases) if cases else []
        wrong = [
            (example, first_mistake(case, example, result))
            for case, (_, example), result in zip(cases, planned, results, strict=True)
        ]
        return [f"{self.name}: {example}: {each}" for example, each in wrong if each is not None]


class Runtime:
    """One or several machines that compute the same.

    What they share is made once: examples, references, and the plans of an instruction set.
    """

    def __init__(self, *machines: Machine) -> None:
        self.machines = machines

    @property
    def isas(self) -> tuple[Isa, ...]:
        """Their instruction sets, each once."""
        return tuple(dict.fromkeys(machine.isa for machine in self.machines))

    def check(self, *examples: Example) -> None:
        """Asserts that every example matches the reference and writes nothing else.

        Ops that may work in place run in place, and again with inputs that must be preserved.
        """
        everyone = [*examples, *(e.keeping_inputs for e in examples if e.works_in_place)]
        wrong = []
        for isa in self.isas:
            planned = [(make_plan(example.graph, isa), example) for example in everyone]
            for plan, _ in planned:
                check_words(plan)
            machines = [machine for machine in self.machines if machine.isa is isa]
            apart = (
                planned
                if all(machine.repeats for machine in machines)
                else [(plan, example) for plan, example in planned if is_apart(plan)]
            )
            for machine in machines:
                wrong += machine.mistakes(planned if machine.repeats else apart)
        _expect_none(wrong)

    def check_plans(self, planned: Sequence[Planned]) -> None:
        """Asserts that plans match their examples on all machines of their instruction sets."""
        wrong = []
        for machine in self.machines:
            wrong += machine.mistakes([each for each in planned if each[0].isa is machine.isa])
        _expect_none(wrong)


def _expect_none(wrong: Sequence[str]) -> None:
    assert not wrong, "\n".join([f"{len(wrong)} wrong", *wrong[:10]])


OTHERS = {Isa.SCALAR: (Isa.MVE,), Isa.DSP: (Isa.SCALAR, Isa.MVE), Isa.MVE: ()}
"""Instruction sets whose machines run a program instead, if it is compiled from the same files."""


def is_apart(plan: Plan) -> bool:
    """Whether a program has code of its own on its instruction set."""
    kernels = frozenset(step.kernel for step in plan.steps if step.is_call)
    own = _sources(kernels, plan.isa)
    return all(_sources(kernels, other) != own for other in OTHERS[plan.isa])


@cache
def _sources(kernels: frozenset[str], isa: Isa) -> tuple[Path, ...]:
    return needed_sources(kernels, isa)


def first_mistake(case: Case, example: Example, result: CaseResult) -> str | None:
    """Describes the first op or output that differs from the reference."""
    plan, (arena, *outputs) = case.plan, result.outputs
    arrays = example.arrays
    for (index, tensor), checksum in zip(_traced(plan), result.checksums, strict=True):
        # A branch not taken computes nothing.
        array = arrays.get(tensor.name)
        if array is not None and checksum != zlib.crc32(np.ascontiguousarray(array).tobytes()):
            step = plan.steps[index]
            return f"{tensor.name} differs after {step.title} by cm_{step.kernel} ({step.source})"
    for port, data, logical, exact in zip(
        plan.outputs, outputs, example.reference.outputs, plan.exact_outputs, strict=True
    ):
        reference = port.to_physical(logical)
        actual = to_array(data, port.tensor)
        wrong = np.argwhere(differences(actual, reference, exact))
        if wrong.size:
            return f"{port.name}: {_difference(actual, reference, wrong)}"
    return _stray_writes(case, np.frombuffer(arena, np.uint8))


def _steps(plan: Plan) -> str:
    return ", ".join(f"{step.title} by cm_{step.kernel}" for step in plan.steps)


def case_of(plan: Plan, example: Example) -> Case:
    """An example on a plan; the whole arena is an additional output, before the plan's."""
    case = Case.of(plan, example.inputs)
    arena = Span(Ref(Base.ARENA, 0), plan.arena_bytes)
    checks = [(step, Span(plan.places[t], t.nbytes)) for step, t in _traced(plan)]
    return replace(case, outputs=(arena, *case.outputs), checks=tuple(checks))


def _traced(plan: Plan) -> list[tuple[int, Tensor]]:
    """Tensors whose bytes must be right after a step; outputs are compared number by number."""
    outputs = {port.tensor for port in plan.outputs}
    return [
        (index, tensor)
        for index, step in enumerate(plan.steps)
        for tensor in step.writes
        if step.exact and tensor not in outputs and not _is_float(tensor.dtype)
    ]


def _stray_writes(case: Case, after: Array) -> str | None:
    """Describes the first write outside outputs and scratch."""
    plan = case.plan
    before = np.full(plan.arena_bytes, POISON, np.uint8)
    free = np.zeros(plan.arena_bytes, np.bool_)
    for port, data in zip(plan.inputs, case.inputs, strict=True):
        if port.fed:
            continue
        start = plan.places[port.tensor].offset
        before[start : start + len(data)] = np.frombuffer(data, np.uint8)
    for kept in plan.states:
        free[kept.span.ref.offset : kept.span.ref.offset + kept.span.size] = True
    for step in plan.steps:
        written = [Span(plan.places[tensor], tensor.nbytes) for tensor in step.writes]
        for span in (*written, *step.scratch):
            free[span.ref.offset : span.ref.offset + span.size] = True
    wrong = np.flatnonzero((before != after) & ~free)
    if wrong.size == 0:
        return None
    return (
        f"wrote {wrong.size} bytes that are not its own, the first at arena + {wrong[0]}; "
        + _map(plan)
    )


def _map(plan: Plan) -> str:
    return ", ".join(
        f"{tensor.name} [{ref.offset}, {ref.offset + tensor.nbytes})"
        for tensor, ref in plan.places.items()
        if ref.base is Base.ARENA
    )


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f"


def _difference(actual: Array, reference: Array, wrong: Array) -> str:
    first = tuple(int(i) for i in wrong[0])
    return (
        f"{len(wrong)} of {actual.size} elements differ, the first at {first}: "
        f"{actual[first]!r} in place of {reference[first]!r}"
    )
