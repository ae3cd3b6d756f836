"""Runs any program on a board's kernel harness, and compares it with the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Protocol

import numpy.typing as npt

from cmbuild.cache.folders import remove
from cmbuild.conformance.harness import KernelHarness, Stopped
from cmbuild.conformance.harness_image import HarnessStage
from cmbuild.errors import Failed
from cmbuild.firmware.capacity import check_sizes
from cmbuild.launchers.base import Refused
from cmbuild.launchers.execution import Execution, Interface, Request, Watch, execute, time_limit
from cmbuild.verify.tolerance import describe, mismatches
from cmcompiler.emit.folder import emit
from cmcompiler.emit.harness_batch import Case, to_array
from cmcompiler.importer.build import build_graph
from cmcompiler.importer.pruning import pruned
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.plan.plan import Plan, Span
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.reader import read_program

Array = npt.NDArray[Any]

PROGRAM = "program.pte"


class Differs(Failed):
    template = "{wrong} of {outputs} outputs differ from the reference{first}"
    hint = "this is a bug in cmbuild or in a compiler; please report it with {program}"


class _Device(Protocol):
    """A plan and a sample on the board."""

    def outputs(self) -> Sequence[bytes]:
        """The plan's outputs, as laid out in memory."""

    def results(self, index: int) -> Sequence[bytes]:
        """The tensors that a step completes, after it."""


@dataclass(frozen=True)
class Trials:
    """Runs programs on a board.

    Attributes:
        image: made.
        folder: for the files of each run; those of a failed one are kept.
    """

    image: HarnessStage
    harness: KernelHarness
    folder: Path

    def run(self, program: bytes, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs of a program for one sample, all in logical shapes.

        Raises:
            CompilerError: it cannot be read, planned, or given these inputs.
            DoesNotFit: the board's memory is too small for it.
            Differs: from the reference; names the first op that does.
            Stopped, TimedOut, Fault, …: the board did not finish.
        """
        with self.image.library.ops.registered():
            graph = pruned(build_graph(read_program(program)))
            plan = make_plan(graph, self.image.library.target.isa)
            reference = evaluate(graph.whole, inputs).outputs
        case = Case.of(plan, inputs)
        folder = Path(mkdtemp(dir=self.folder))
        (folder / PROGRAM).write_bytes(program)
        device: _Device = _OnHarness(case, self.harness, folder)
        try:
            stored = device.outputs()
        except Stopped as error:
            if not isinstance(error.__cause__, Refused):
                raise
            # The harness keeps constants in RAM; an image with only this program may still fit.
            device = _OnRunner(case, self.image, self.harness, folder)
            stored = device.outputs()
        arrays = [
            to_array(data, port.tensor) for data, port in zip(stored, plan.outputs, strict=True)
        ]
        wrong = [
            mismatches(array, port.to_physical(expected), exact) > 0
            for array, port, expected, exact in zip(
                arrays, plan.outputs, reference, plan.exact_outputs, strict=True
            )
        ]
        if any(wrong):
            first = _first_difference(graph, plan, inputs, device)
            raise Differs(wrong=sum(wrong), outputs=len(wrong), first=first, program=folder)
        remove(folder, folder.parent)
        return tuple(p.to_logical(a) for p, a in zip(plan.outputs, arrays, strict=True))


@dataclass(frozen=True)
class _OnHarness:
    """Implements _Device."""

    case: Case
    harness: KernelHarness
    folder: Path

    def outputs(self) -> Sequence[bytes]:
        return self._run(self.case)

    def results(self, index: int) -> Sequence[bytes]:
        plan = self.case.plan
        steps = plan.steps[: self._end(index)]
        spans = tuple(Span(plan.places[t], t.nbytes) for t in plan.steps[index].writes)
        return self._run(replace(self.case, plan=replace(plan, steps=steps), outputs=spans))

    def _end(self, index: int) -> int:
        """The end of a step, or of the stream that it is a stage of."""
        ends = (i + 1 + step.stages for i, step in enumerate(self.case.plan.steps[: index + 1]))
        return max(ends)

    def _run(self, case: Case) -> Sequence[bytes]:
        (self.folder / "results").unlink(missing_ok=True)
        (result,) = self.harness.run([case], self.folder, time_limit(case.plan.macs, 1))
        return result.outputs


class _OnRunner:
    """Implements _Device."""

    def __init__(self, case: Case, image: HarnessStage, harness: KernelHarness, folder: Path):
        self._plan = case.plan
        self._inputs = case.inputs
        self._harness = harness
        self._folder = folder
        check_sizes(image.board, constants=len(case.plan.constants), arena=case.plan.arena_bytes)
        model = folder / "model"
        model.mkdir()
        self._record = emit(case.plan, model, (folder / PROGRAM).read_bytes())
        library = image.library
        self._image = library.builder.runner(image.board, library.archive, model, folder / "runner")

    def outputs(self) -> Sequence[bytes]:
        return self._run("outputs").outputs[0]

    def results(self, index: int) -> Sequence[bytes]:
        before = sum(len(step.writes) for step in self._plan.steps[:index])
        return self._traces[before : before + len(self._plan.steps[index].writes)]

    @cached_property
    def _traces(self) -> Sequence[bytes]:
        """Each tensor when it is complete."""
        places = self._plan.places
        watches = [
            Watch(index, places[tensor].word, tensor.nbytes)
            for index, step in enumerate(self._plan.steps)
            for tensor in step.writes
        ]
        return self._run("traces", watches).traces[0]

    def _run(self, name: str, watches: Sequence[Watch] = ()) -> Execution:
        harness, folder = self._harness, self._folder / name
        return execute(
            harness.launcher,
            harness.processes,
            self._image,
            Interface.of(self._record),
            Request([self._inputs], profiled=0, watches=watches),
            folder=folder,
            timeout=time_limit(self._plan.macs, 1),
            log=self._folder / f"{name}.txt",
        )


def _first_difference(graph: Graph, plan: Plan, inputs: Sequence[Array], device: _Device) -> str:
    """`, first at op 3, …`; empty if every op is right, and the output comes from no op."""
    whole, before = graph.whole, graph.before
    names = {tensor.name for step in plan.steps for tensor in step.writes}
    written = [t for node in whole.nodes for t in node.outputs if t.name in names]
    kept = evaluate(whole, inputs, keep=written).tensors
    arrays = {tensor.name: before.left(tensor.name, kept[tensor]) for tensor in kept}
    for index, step in enumerate(plan.steps):
        for tensor, data in zip(step.writes, device.results(index), strict=True):
            if tensor.name not in arrays:  # in a branch that is not taken
                continue
            expected = arrays[tensor.name]
            if wrong := mismatches(to_array(data, tensor), expected, step.exact):
                return f", first at {describe(index, step, wrong, tensor.numel)}"
    return ""
