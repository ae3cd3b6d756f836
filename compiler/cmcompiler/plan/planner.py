"""From a graph to its plan: kernel calls resolved to words, constants packed, arena laid out."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import numpy as np

from cmcompiler.errors import Unsupported
from cmcompiler.ir.arithmetic import arithmetics
from cmcompiler.ir.graph import Graph, MutableBuffer
from cmcompiler.ir.op import (
    Address,
    GrowableScratch,
    KernelCall,
    Op,
    Packed,
    Scratch,
    ScratchCount,
    Word,
)
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.plan import arena
from cmcompiler.plan.abi import BRANCH, SLACK
from cmcompiler.plan.arena import ArenaBlock, BlockUse
from cmcompiler.plan.constants import ConstantPool
from cmcompiler.plan.lifetimes import Liveness, analyse
from cmcompiler.plan.plan import Argument, Base, Peak, Plan, PlanStep, Ref, Span, StateBuffer
from cmcompiler.plan.schedule import BranchStart, make_schedule
from cmcompiler.plan.scratch import grow_scratch, least_scratch
from cmcompiler.plan.storage import share

ARENA_LIMIT = 256 << 20
"""Bytes; more than any board has, and within the reference interpreter's memory."""


def make_plan(graph: Graph, isa: Isa) -> Plan:
    """The plan of `graph` for cores with `isa`.

    Raises:
        Unsupported: the arena needs 256 MiB, or the constants 2 GiB, or more.
    """
    _check_sizes(graph)
    sharing = share(graph)
    schedule = make_schedule(graph.nodes, _calls(graph, isa, sharing.settled))
    memory = analyse(graph, sharing.storage, schedule.spans)
    scratch = [least_scratch(entry) for entry in schedule.entries]
    blocks = [*memory.blocks, *_scratch_blocks(scratch)]
    bound = arena.lower_bound(blocks)
    if bound + SLACK >= ARENA_LIMIT:
        raise Unsupported(f"activations need {bound:,} bytes at once, more than 256 MiB")
    layout = arena.place(blocks)
    grown = grow_scratch(schedule.entries, blocks, layout)
    constants = ConstantPool()
    resolver = _Resolver(memory, grown.offsets, constants)
    exact = exact_tensors(graph, lambda op: op.exact)
    arithmetic = arithmetics(graph)
    steps = []
    for index, entry in enumerate(grown.entries):
        node = graph.nodes[entry.node]
        if isinstance(entry.action, BranchStart):
            steps.append(_branch_step(entry.node, entry.action, resolver))
            continue
        call, is_last = entry.action, index == schedule.spans[entry.node][-1]
        arguments = resolver.arguments(call)
        steps.append(
            PlanStep(
                node=entry.node,
                title=node.op.title,
                source=node.source,
                kernel=call.kernel,
                arguments=arguments,
                rows=call.rows,
                microkernel=call.microkernel.name if call.microkernel else None,
                provider=call.microkernel.provider(isa) if call.microkernel else None,
                macs=node.op.macs if is_last else 0,
                scratch=_scratch_spans(call, arguments),
                writes=node.outputs if is_last else (),
                exact=all(tensor in exact for tensor in node.outputs),
                arithmetic=arithmetic[entry.node],
            )
        )
    for port in (*graph.inputs, *graph.outputs):
        resolver.place(port.tensor)
    states = tuple(_state_buffer(state, resolver, constants) for state in graph.states)
    scratch_bytes = [sum(map(arena.aligned, sizes)) for sizes in scratch]
    return Plan(
        name=graph.name,
        isa=isa,
        steps=tuple(steps),
        constants=constants.bytes(),
        arena_bytes=layout.size + SLACK,
        places=resolver.places,
        inputs=graph.inputs,
        outputs=graph.outputs,
        peak=_peak(memory, scratch_bytes),
        exact_outputs=tuple(port.tensor in exact for port in graph.outputs),
        states=states,
    )


def _check_sizes(graph: Graph) -> None:
    """Refuses what can never fit, before any op packs its tables."""
    tensors = [tensor for node in graph.nodes for tensor in (*node.inputs, *node.outputs)]
    for tensor in (*tensors, *(port.tensor for port in (*graph.inputs, *graph.outputs))):
        if tensor.nbytes >= ARENA_LIMIT:
            raise Unsupported(f"{tensor.name} needs {tensor.nbytes:,} bytes, more than 256 MiB")


def _calls(graph: Graph, isa: Isa, settled: Container[int]) -> list[Sequence[KernelCall]]:
    """The kernel calls that compute each node."""
    return [
        ()
        if node.op.view_of is not None or index in settled or node.is_empty
        else tuple(node.op.kernel_calls(node.inputs, node.outputs, isa))
        for index, node in enumerate(graph.nodes)
    ]


def _branch_step(node: int, branch: BranchStart, resolver: _Resolver) -> PlanStep:
    """The fields of struct cm_branch in cmrt/program.h."""
    guard = branch.guard
    return PlanStep(
        node=node,
        title=BRANCH,
        source=guard.source,
        kernel=BRANCH,
        arguments=(
            Argument("condition", resolver.place(guard.condition)),
            Argument("expected", int(guard.expected)),
            Argument("count", branch.count),
        ),
    )


def _state_buffer(
    state: MutableBuffer, resolver: _Resolver, constants: ConstantPool
) -> StateBuffer:
    data = np.ascontiguousarray(state.initial).tobytes()
    initial = constants.add(data) if any(data) else None
    return StateBuffer(state.tensor, Span(resolver.place(state.tensor), len(data)), initial)


def _scratch_blocks(scratch: Sequence[Sequence[int]]) -> list[ArenaBlock]:
    """Arena blocks for the scratch sizes of each step."""
    return [
        ArenaBlock((BlockUse(step, step, n),)) for step, sizes in enumerate(scratch) for n in sizes
    ]


def _scratch_spans(call: KernelCall, arguments: Sequence[Argument]) -> tuple[Span, ...]:
    return tuple(
        Span(argument.value, word.size)
        for (_, word), argument in zip(call.arguments, arguments, strict=True)
        if isinstance(word, Scratch) and isinstance(argument.value, Ref)
    )


def exact_tensors(graph: Graph, is_exact: Callable[[Op], bool]) -> set[Tensor]:
    """Tensors with no inexact op upstream, in this run or, through a state, in an earlier one."""
    inexact: set[Tensor] = set()
    while True:
        for node in graph.nodes:
            if not is_exact(node.op) or not inexact.isdisjoint(node.reads):
                inexact.update(node.outputs)
        carried = {state.tensor for state in graph.states if state.final in inexact}
        if carried <= inexact:
            break
        inexact |= carried
    everyone = {port.tensor for port in (*graph.inputs, *graph.outputs)}
    everyone.update(tensor for node in graph.nodes for tensor in node.outputs)
    return everyone - inexact


def _peak(memory: Liveness, scratch: Sequence[int]) -> Peak | None:
    if not scratch:
        return None
    used = arena.Steps(arena.in_use(memory.blocks))
    sizes = [used.at(step) + size for step, size in enumerate(scratch)]
    step = sizes.index(max(sizes))
    return Peak(step, sizes[step], memory.alive(step), scratch[step])


class _Resolver:
    """Turns the words of kernel calls into numbers and addresses; takes scratch in order."""

    def __init__(self, memory: Liveness, offsets: Sequence[int], constants: ConstantPool) -> None:
        self.places: dict[Tensor, Ref] = {}
        self._memory = memory
        self._offsets = offsets
        self._constants = constants
        self._next_scratch = len(memory.blocks)

    def arguments(self, call: KernelCall) -> tuple[Argument, ...]:
        try:
            return tuple(Argument(name, self._value(word)) for name, word in call.arguments)
        except ValueError as error:
            raise ValueError(f"kernel {call.kernel}: {error}") from error

    def place(self, tensor: Tensor) -> Ref:
        if tensor not in self.places:
            place = self._memory.storage[tensor]
            owner = place.owner
            if owner.data is not None:
                ref = self._constants.add(np.ascontiguousarray(owner.data).tobytes())
            else:
                ref = Ref(Base.ARENA, self._offsets[self._memory.block[owner]])
            self.places[tensor] = Ref(ref.base, ref.offset + place.offset)
        return self.places[tensor]

    def _value(self, word: Word) -> int | float | Ref:
        if isinstance(word, Address):
            if not 0 <= word.offset <= word.tensor.nbytes:
                raise ValueError(f"offset {word.offset} lies outside {word.tensor.name}")
            place = self.place(word.tensor)
            return Ref(place.base, place.offset + word.offset)
        if isinstance(word, Packed):
            return self._constants.add(word.data, word.align)
        if isinstance(word, Scratch):
            self._next_scratch += 1
            return Ref(Base.ARENA, self._offsets[self._next_scratch - 1])
        assert not isinstance(word, GrowableScratch | ScratchCount)
        if isinstance(word, float | np.floating):
            return float(word)
        if not -(1 << 31) <= word < 1 << 32:
            raise ValueError(f"{word} does not fit 32 bits")
        return int(word)
