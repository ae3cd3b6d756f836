"""A program beside a float model that another file has: `compare kws.tflite net.py:make`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cmbuild.accuracy import Fidelity
from cmbuild.verify.fidelity import Array, compare, dequantized
from cmcompiler.importer.boundary import stored_quantization
from cmcompiler.importer.suffixes import TFLITE
from cmcompiler.ir.movement.view import View
from cmcompiler.ops.dequantize import Dequantize
from cmcompiler.ops.short_softmax import ShortSoftmax
from cmcompiler.ops.softmax import Softmax
from cmcompiler.pte.program import Method, TensorValue

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.plan import PlanStage
    from cmbuild.pipeline.stages.reference import ReferenceStage
    from cmcompiler.ir.graph import Graph, Node

SOFTMAX = (Softmax, ShortSoftmax)
UNCHANGED = (Dequantize, View)
"""Ops after a softmax that change no answer."""


def fidelity_beside(plan: PlanStage, judge: ReferenceStage) -> Fidelity | None:
    """How close a program is to the float model of another one.

    Of a program that ends in a softmax, beside a float model that does not, its input counts.

    Args:
        plan: of the program.
        judge: the other program's reference, whose samples the float model has computed.

    Returns:
        None if there are no such samples, or inputs or outputs differ in shape or type.
    """
    from cmbuild.verify.samples import as_taken
    from cmcompiler.frontend.vectors import Samples
    from cmcompiler.ir.reference import evaluate_all

    real, basis = judge.real_outputs, judge.basis
    if not real or basis is None:
        return None
    graph = plan.source.graph()
    if not _ends_in_softmax(judge.plan.source.graph()):
        graph = _without_softmax(graph, plan.source.chosen())
    is_last = plan.source.path.suffix == TFLITE
    given = [stack[: len(real[0])] for stack in judge.real_inputs]
    inputs = _arranged(given, [port.shape for port in graph.inputs], is_last)
    expected = _arranged(real, [port.shape for port in graph.outputs], is_last)
    if inputs is None or expected is None:
        return None
    samples = as_taken(Samples(tuple(inputs)), plan.record.inputs)
    if [stack.dtype for stack in samples.inputs] != [p.tensor.dtype for p in graph.inputs]:
        return None
    with plan.source.ops.registered():
        results = [each.outputs for each in evaluate_all(graph, samples, judge.reset)]
    stacks = [np.stack(each) for each in zip(*results, strict=True)]
    return compare(expected, list(map(dequantized, stacks, graph.outputs)), basis)


def _softmax_of(graph: Graph) -> Node | None:
    """The softmax that makes the only output."""
    if len(graph.outputs) != 1:
        return None
    tensor = graph.outputs[0].tensor
    while (node := graph.producer.get(tensor)) is not None and isinstance(node.op, UNCHANGED):
        tensor = node.inputs[0]
    return node if node is not None and isinstance(node.op, SOFTMAX) else None


def _ends_in_softmax(graph: Graph) -> bool:
    return _softmax_of(graph) is not None


def _without_softmax(graph: Graph, method: Method) -> Graph:
    """A graph with the input of its last softmax as the output, if the program says what that
    means; else as it is.
    """
    node = _softmax_of(graph)
    held = None if node is None else node.inputs[0].held
    value = None if held is None else method.values[held.index]
    if node is None or held is None or not isinstance(value, TensorValue):
        return graph
    if (scheme := stored_quantization(value)) is None:
        return graph
    port = replace(
        graph.outputs[0],
        tensor=node.inputs[0],
        shape=held.shape,
        dim_order=held.dim_order,
        quantization=scheme,
    )
    return replace(graph, outputs=(port,))


def _arranged(
    stacks: Sequence[Array], shapes: Sequence[Sequence[int]], is_last: bool
) -> list[Array] | None:
    """Stacks of samples in other shapes; None if they do not fit.

    Args:
        is_last: the shapes have their channels last, where torch has them second.
    """
    if len(stacks) != len(shapes):
        return None
    arranged = []
    for stack, shape in zip(stacks, shapes, strict=True):
        ordered = np.moveaxis(stack, 2, -1) if is_last and stack.ndim > 3 else stack
        if _without_ones(ordered.shape[1:]) != _without_ones(shape):
            return None
        arranged.append(ordered.reshape(len(stack), *shape))
    return arranged


def _without_ones(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if size != 1]
