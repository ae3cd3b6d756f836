"""A program as ExecuTorch's runtime runs it: its own memory plan, one step per instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from cmcompiler.errors import Unsupported
from cmcompiler.executorch.isa_check import check_isa
from cmcompiler.ir.arithmetic import Arithmetic, arithmetics, strongest
from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import ALIGN
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.plan.planner import exact_tensors
from cmcompiler.pte.program import Allocation, KernelInstruction, Method, TensorValue

EXECUTOR = "--executor executorch"


@dataclass(frozen=True, slots=True)
class Extent:
    """Bytes of the arena."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """A tensor among the method's inputs or outputs.

    Attributes:
        index: among all inputs or outputs of the method.
        planned: placed by the program; others are placed after its buffers.
    """

    index: int
    extent: Extent
    planned: bool


@dataclass(frozen=True, slots=True)
class ExecutorchStep:
    """One instruction; or all of them as one step, if some are skipped or repeated.

    Attributes:
        title, source: for people; `source` is the operator and instruction of the program.
        operator: full name, or the kind of instruction.
        exact: results are bit-exact to the reference, as are those of all steps before.
        writes: tensors of the graph that the instruction itself writes, and where.
    """

    title: str
    source: str
    operator: str
    macs: int
    exact: bool
    writes: tuple[tuple[Tensor, Extent], ...] = ()
    arithmetic: Arithmetic = Arithmetic.INTEGER


@dataclass(frozen=True)
class ExecutorchPlan:
    """The host's knowledge before ExecuTorch's runtime runs the program.

    Attributes:
        buffers: the program's planned memory, contiguous in the arena.
        operators: full names without duplicates, in order of first use.
        stepwise: the instructions run one after the other.
    """

    graph: Graph
    method: Method
    buffers: tuple[Extent, ...]
    inputs: tuple[TensorArgument, ...]
    outputs: tuple[TensorArgument, ...]
    operators: tuple[str, ...]
    steps: tuple[ExecutorchStep, ...]
    stepwise: bool
    arena_bytes: int
    exact_outputs: tuple[bool, ...]

    @cached_property
    def macs(self) -> int:
        return sum(step.macs for step in self.steps)

    @property
    def most_arguments(self) -> int:
        """The largest number of arguments of any instruction."""
        calls = (each for each in self.method.instructions if isinstance(each, KernelInstruction))
        return max((len(call.arguments) for call in calls), default=0)

    @property
    def exact(self) -> bool:
        """All outputs are bit-exact to the reference."""
        return all(self.exact_outputs)


def make_executorch_plan(method: Method, graph: Graph, isa: Isa) -> ExecutorchPlan:
    """How ExecuTorch's runtime runs a method.

    Args:
        graph: of the method, with the program's own inputs and outputs.
        isa: of the target core.

    Raises:
        Unsupported: an output is not a tensor; a mutable buffer, which could not be reset; a
            program made for another instruction set.
    """
    check_isa(method, isa)
    if graph.states:
        raise Unsupported(f"mutable buffers are not supported by {EXECUTOR}: there is one")
    arena = _Arena()
    buffers = tuple(map(arena.take, method.buffer_sizes[1:]))
    places = _Places(method, buffers, arena)
    inputs = places.arguments(method.inputs, given=())
    outputs = places.arguments(method.outputs, given=method.inputs)
    if len(outputs) != len(graph.outputs):
        raise Unsupported(f"outputs that are numbers are not supported by {EXECUTOR}")
    calls = [each for each in method.instructions if isinstance(each, KernelInstruction)]
    exact = exact_tensors(graph, lambda op: op.exact and not op.transcendental)
    stepwise = len(calls) == len(method.instructions)
    exact_outputs = tuple(port.tensor in exact for port in graph.outputs)
    if stepwise:
        by_source = _by_source(graph.nodes)
        arithmetic = dict(zip(graph.nodes, arithmetics(graph), strict=True))
        steps = tuple(
            replace(
                _step(source, call, by_source, places, exact),
                arithmetic=strongest(arithmetic[node] for node in by_source.get(source, ())),
            )
            for call, source in (
                (call, f"{call.operator} #{number}") for number, call in enumerate(calls)
            )
        )
    else:
        source = f"method {method.name}"
        macs = sum(node.op.macs for node in graph.nodes)
        steps = (ExecutorchStep("all instructions", source, source, macs, all(exact_outputs)),)
    return ExecutorchPlan(
        graph=graph,
        method=method,
        buffers=buffers,
        inputs=inputs,
        outputs=outputs,
        operators=tuple(dict.fromkeys(call.operator for call in calls)),
        steps=steps,
        stepwise=stepwise,
        arena_bytes=max(arena.end, ALIGN),
        exact_outputs=exact_outputs,
    )


class _Arena:
    """Memory allocated from the start upwards."""

    def __init__(self) -> None:
        self.end = 0

    def take(self, size: int) -> Extent:
        extent = Extent(self.end, size)
        self.end += -(-size // ALIGN) * ALIGN
        return extent


class _Places:
    """Addresses of a method's tensors."""

    def __init__(self, method: Method, buffers: Sequence[Extent], arena: _Arena) -> None:
        self._method = method
        self._buffers = buffers
        self._arena = arena

    def arguments(self, indices: Sequence[int], given: Sequence[int]) -> tuple[TensorArgument, ...]:
        """The tensors among inputs or outputs; allocates those without a place.

        Args:
            given: values that already have a place although none is planned.
        """
        arguments = []
        for number, index in enumerate(indices):
            value = self._method.values[index]
            if not isinstance(value, TensorValue):
                continue
            is_placed = value.data is not None or index in given
            if value.allocation is not None:
                arguments.append(TensorArgument(number, self.of(value, value.allocation), True))
            else:
                size = 0 if is_placed else value.nbytes
                extent = Extent(self._arena.take(size).offset, value.nbytes)
                arguments.append(TensorArgument(number, extent, is_placed))
        return tuple(arguments)

    def of(self, value: TensorValue, allocation: Allocation) -> Extent:
        buffer = self._buffers[allocation.memory - 1]
        return Extent(buffer.offset + allocation.offset, value.nbytes)

    def written(
        self, call: KernelInstruction, nodes: Sequence[Node]
    ) -> tuple[tuple[Tensor, Extent], ...]:
        """The nodes' tensors that are arguments of the instruction."""
        names = {f"value_{index}": self._method.values[index] for index in call.arguments}
        extents = []
        for tensor in (tensor for node in nodes for tensor in node.outputs):
            value = names.get(tensor.name.partition(".")[0])
            if isinstance(value, TensorValue) and value.allocation is not None:
                extents.append((tensor, self.of(value, value.allocation)))
        return tuple(extents)


def _by_source(nodes: Sequence[Node]) -> dict[str, list[Node]]:
    by_source: dict[str, list[Node]] = {}
    for node in nodes:
        by_source.setdefault(node.source, []).append(node)
    return by_source


def _step(
    source: str,
    call: KernelInstruction,
    by_source: dict[str, list[Node]],
    places: _Places,
    exact: set[Tensor],
) -> ExecutorchStep:
    nodes = by_source.get(source, [])
    # Unused instructions have no node; others may include transposes.
    works = [node for node in nodes if not isinstance(node.op, (View, Transpose))]
    title = (works or nodes)[0].op.title if nodes else call.operator.partition("::")[2]
    return ExecutorchStep(
        title=title,
        source=source,
        operator=call.operator,
        macs=sum(node.op.macs for node in nodes),
        exact=all(tensor in exact for node in nodes for tensor in node.outputs),
        writes=places.written(call, nodes),
    )
