"""A run's outputs beside the reference's: what differs, and which op differs first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmbuild.launchers.execution import Execution, Request, Watch
from cmbuild.results import Score, Verification
from cmbuild.verify.fidelity import dequantized
from cmbuild.verify.tolerance import count, describe, mismatches
from cmcompiler.frontend.model import Task
from cmcompiler.frontend.weights import Origin
from cmcompiler.plan.abi import REF_CONSTANT

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.reference import ReferenceStage
    from cmcompiler.plan.record import PlaceRecord, PortRecord, TensorRecord

Array = npt.NDArray[Any]

BEST = 5
"""Number of a classifier's classes to show."""


class Comparison:
    """The outputs of an image on the samples of a reference, output by output, bit by bit."""

    def __init__(self, reference: ReferenceStage) -> None:
        self._reference = reference
        self._plan = reference.plan.record
        self._source = reference.plan.source
        self._wrong: list[int] = []
        self._first: str | None = None
        self.outputs: list[Array] = []
        """One array for each output, shape (samples, *y.shape)."""

    def request(self) -> Request:
        """All samples, as laid out in memory."""
        samples = [self._raw(index) for index in range(len(self._reference.samples))]
        return Request(samples, reset=self._reference.reset)

    def take(self, execution: Execution) -> None:
        """Compares the image's outputs."""
        samples = [
            [to_logical(data, port) for data, port in zip(outputs, self._plan.outputs, strict=True)]
            for outputs in execution.outputs
        ]
        self.outputs = [np.stack(stack) for stack in zip(*samples, strict=True)]
        exact = [port.exact for port in self._plan.outputs]
        self._wrong = [
            count(arrays, [stack[index] for stack in self._reference.outputs], exact)
            for index, arrays in enumerate(samples)
        ]

    @property
    def failed(self) -> int:
        """Samples that differ."""
        return sum(wrong > 0 for wrong in self._wrong)

    def verification(self) -> Verification:
        return Verification(
            rule=self._plan.verified,
            samples=len(self._wrong),
            failed=self.failed,
            mismatches=sum(self._wrong),
            first=self._first,
        )

    def tracing_request(self) -> Request:
        """Runs the first sample that differs, and checks the result of every step.

        If the program has mutable buffers, the samples before it run first.
        """
        watches = [
            Watch(step, _reference(tensor.place), tensor.place.bytes)
            for step, tensor in self._watched()
        ]
        samples = [self._raw(index) for index in self._leading()]
        return Request(samples, profiled=0, watches=watches, watched=len(samples) - 1)

    def locate(self, execution: Execution) -> None:
        """Finds the op whose result differs first, from the answer to `tracing_request`."""
        # Importing it loads all operators.
        from cmcompiler.ir.reference import evaluate, evaluate_all

        graph = self._source.graph()
        tensors = {tensor.name: tensor for node in graph.nodes for tensor in node.outputs}
        *before, sample = (self._reference.samples[index] for index in self._leading())
        states = None
        for evaluation in evaluate_all(graph, before):
            states = evaluation.states
        kept = evaluate(graph, sample, tensors.values(), states).tensors
        pruning = self._source.live_graph().before
        for (index, watched), data in zip(self._watched(), execution.traces[0], strict=True):
            value = np.frombuffer(data, watched.dtype).reshape(watched.shape)
            step = self._plan.steps[index]
            # Nothing if a branch was not taken, or for an input whose rows came from outside.
            tensor = tensors.get(watched.name)
            whole = None if tensor is None else kept.get(tensor)
            if whole is None:
                continue
            expected = pruning.left(watched.name, whole)
            if wrong := mismatches(value, expected, step.exact):
                self._first = describe(index, step, wrong, value.size)
                return

    def best(self) -> tuple[Score, ...]:
        """The best classes of the first sample, if the model is known to be a classifier."""
        record = self._source.record
        if record is None or record.task is not Task.CLASSIFICATION or not self.outputs:
            return ()
        scores = dequantized(self.outputs[0][0], self._plan.outputs[0]).reshape(-1)
        order = np.argsort(-scores, kind="stable")[:BEST]
        # With random weights, the name of a class would look like an answer.
        named = record.weights.source is not Origin.RANDOM and len(record.classes) == scores.size
        names = record.classes if named else ()
        return tuple(
            Score(int(index), names[index] if names else str(index), float(scores[index]))
            for index in order
        )

    def _raw(self, sample: int) -> list[bytes]:
        arrays = self._reference.samples[sample]
        return [to_memory(a, port) for a, port in zip(arrays, self._plan.inputs, strict=True)]

    def _leading(self) -> range:
        """The first sample that differs, and those before it that it depends on."""
        wrong = next(index for index, wrong in enumerate(self._wrong) if wrong)
        depends = self._plan.states and not self._reference.reset
        return range(0 if depends else wrong, wrong + 1)

    def _watched(self) -> list[tuple[int, TensorRecord]]:
        return [
            (index, tensor)
            for index, step in enumerate(self._plan.steps)
            for tensor in step.writes
            if tensor.place.bytes
        ]


def to_memory(array: Array, port: PortRecord) -> bytes:
    """An array of a port's logical shape, as the bytes that the image reads."""
    return array.transpose(port.dim_order).tobytes()


def to_logical(data: bytes, port: PortRecord) -> Array:
    """The inverse of to_memory."""
    physical = [port.shape[axis] for axis in port.dim_order]
    array = np.frombuffer(data, port.dtype).reshape(physical)
    return np.ascontiguousarray(array.transpose(np.argsort(port.dim_order))).reshape(port.shape)


def _reference(place: PlaceRecord) -> int:
    return place.offset | (REF_CONSTANT if place.base == "constants" else 0)
