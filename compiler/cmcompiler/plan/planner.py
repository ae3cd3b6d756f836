"""From a graph to its plan: kernel calls resolved to words, constants packed, arena laid out."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cmcompiler.errors import Unsupported
from cmcompiler.ir.arithmetic import arithmetics
from cmcompiler.ir.graph import Graph, MutableBuffer, Node
from cmcompiler.ir.op import (
    KernelCall,
    Op,
    Reach,
    RowCall,
    Scratch,
)
from cmcompiler.ir.rows import image_rows, row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.plan import arena
from cmcompiler.plan.abi import BRANCH, CONTROL_BRANCH, SLACK, STREAM
from cmcompiler.plan.arena import ArenaBlock, ArenaLayout, BlockUse
from cmcompiler.plan.constants import ConstantPool
from cmcompiler.plan.lifetimes import Liveness, analyse
from cmcompiler.plan.plan import Argument, Fence, Peak, Plan, PlanStep, Ref, Span, StateBuffer
from cmcompiler.plan.resolver import Resolver
from cmcompiler.plan.schedule import (
    BranchStart,
    Schedule,
    ScheduleEntry,
    StreamStart,
    make_schedule,
)
from cmcompiler.plan.scratch import grow_scratch, least_scratch
from cmcompiler.plan.storage import Storage, share
from cmcompiler.plan.streams.encoding import PROGRESS_BYTES, encode
from cmcompiler.plan.streams.group import StreamStage
from cmcompiler.plan.streams.search import MOST_SURCHARGE, ChosenStreams, Computation, find_streams
from cmcompiler.plan.streams.turns import calls_in_turn

ARENA_LIMIT = 256 << 20
"""Bytes; more than any board has, and within the reference interpreter's memory."""


def make_plan(
    graph: Graph, isa: Isa, streams: bool = True, surcharge: float = MOST_SURCHARGE
) -> Plan:
    """The plan of `graph` for cores with `isa`.

    Args:
        streams: whether ops may run in turns, a few rows each, where that saves memory.
        surcharge: of the instructions, roughly, that they may add.

    Raises:
        Unsupported: the arena needs 256 MiB, or the constants 2 GiB, or more.
    """
    _check_sizes(graph)
    sharing = share(graph)
    calls = _calls(graph, isa, sharing.settled)
    drafts = [_Draft(graph, sharing.storage, calls, ChosenStreams())]
    if streams and (row_calls := _row_calls(graph, isa, calls)):
        computation = Computation(graph, sharing.storage, calls, row_calls, isa)
        found = find_streams(computation, surcharge)
        drafts.insert(0, _Draft(graph, sharing.storage, calls, found))
    # Rows of an output before those of an input leave gaps that the search knows nothing of.
    draft = min(drafts, key=lambda draft: draft.layout.size)
    schedule, memory, blocks = draft.schedule, draft.memory, draft.blocks
    layout, found = draft.layout, draft.found
    grown = grow_scratch(schedule.entries, blocks, layout)
    constants = ConstantPool()
    rings = {tensor: rows for stream in found.streams for tensor, rows in stream.rings.items()}
    resolver = Resolver(memory, grown.offsets, constants, rings, len(found.streams))
    exact = exact_tensors(graph, lambda op: op.exact)
    arithmetic = arithmetics(graph)
    stages = _stages(grown.entries)
    steps = []
    for index, entry in enumerate(grown.entries):
        node = graph.nodes[entry.node]
        if isinstance(entry.action, BranchStart):
            steps.append(_branch_step(entry.node, entry.action, resolver))
            continue
        if isinstance(entry.action, StreamStart):
            steps.append(_stream_step(entry.node, entry.action, resolver))
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
                writes=tuple(t for t in node.outputs if is_last and t not in rings),
                exact=all(tensor in exact for tensor in node.outputs),
                arithmetic=arithmetic[entry.node],
                fences=_fences(stages.get(index), resolver),
            )
        )
    for port in (*graph.inputs, *graph.outputs):
        resolver.place(port.tensor)
    states = tuple(_state_buffer(state, resolver, constants) for state in graph.states)
    scratch_bytes = [sum(map(arena.aligned, sizes)) for sizes in draft.scratch]
    return Plan(
        name=graph.name,
        isa=isa,
        steps=tuple(steps),
        constants=constants.bytes(),
        arena_bytes=layout.size + SLACK,
        places=resolver.places,
        inputs=graph.inputs,
        outputs=graph.outputs,
        peak=_peak(blocks, memory, scratch_bytes),
        exact_outputs=tuple(port.tensor in exact for port in graph.outputs),
        states=states,
    )


@dataclass(frozen=True)
class _Draft:
    """A graph with some streams, and its memory."""

    graph: Graph
    storage: dict[Tensor, Storage]
    calls: Sequence[Sequence[KernelCall]]
    found: ChosenStreams

    @cached_property
    def schedule(self) -> Schedule:
        return make_schedule(self.graph.nodes, self.calls, self.found.streams)

    @cached_property
    def memory(self) -> Liveness:
        return analyse(self.graph, self.storage, self.schedule.times, self.found.streams)

    @cached_property
    def scratch(self) -> list[list[int]]:
        return [least_scratch(entry) for entry in self.schedule.entries]

    @cached_property
    def blocks(self) -> list[ArenaBlock]:
        progress = _progress_blocks(self.schedule.entries)
        return [*self.memory.blocks, *progress, *_scratch_blocks(self.scratch)]

    @cached_property
    def layout(self) -> ArenaLayout:
        """
        Raises:
            Unsupported: the arena needs 256 MiB or more.
        """
        bound = arena.lower_bound(self.blocks)
        if bound + SLACK >= ARENA_LIMIT:
            raise Unsupported(f"activations need {bound:,} bytes at once, more than 256 MiB")
        layout = arena.place(self.blocks)
        return replace(layout, size=max(layout.size, self.found.limit))


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


def _row_calls(
    graph: Graph, isa: Isa, calls: Sequence[Sequence[KernelCall]]
) -> list[Sequence[RowCall]]:
    """Those that compute each node row by row; none for what is computed as a whole."""
    return [
        tuple(_rows_of(node, isa)) if whole and not node.guards else ()
        for node, whole in zip(graph.nodes, calls, strict=True)
    ]


def _rows_of(node: Node, isa: Isa) -> Sequence[RowCall]:
    """The calls for one image of more than a row, made from images."""
    rows = image_rows(node.outputs[0]) if len(node.outputs) == 1 else None
    if rows is None or rows == 1:
        return ()
    calls = node.op.row_calls(node.inputs, node.outputs, isa)
    return calls if all(map(image_rows, (t for call in calls for t in call.reads))) else ()


def _branch_step(node: int, branch: BranchStart, resolver: Resolver) -> PlanStep:
    """The fields of struct cm_branch in cmrt/program.h."""
    guard = branch.guard
    return PlanStep(
        node=node,
        title=BRANCH,
        source=guard.source,
        kernel=BRANCH,
        arguments=(
            Argument("control", CONTROL_BRANCH),
            Argument("condition", resolver.place(guard.condition)),
            Argument("expected", int(guard.expected)),
            Argument("count", branch.count),
        ),
    )


def _stream_step(node: int, start: StreamStart, resolver: Resolver) -> PlanStep:
    """The fields of struct cm_row_stream in cmrt/program.h."""
    group, progress = start.stream.group, resolver.take_progress()
    rings = start.stream.ring_bytes
    spans = [Span(progress, PROGRESS_BYTES * start.count)]
    spans += [Span(resolver.place(tensor), size) for tensor, size in rings.items()]
    return PlanStep(
        node=node,
        title=STREAM,
        source=f"{start.count} stages",
        kernel=STREAM,
        arguments=encode(group, progress, resolver.rows),
        scratch=tuple(spans),
        stages=start.count,
        turns=calls_in_turn(group),
    )


def _stages(entries: Sequence[ScheduleEntry]) -> dict[int, StreamStage]:
    """Those of all streams, by their steps."""
    return {
        step + 1 + index: stage
        for step, entry in enumerate(entries)
        if isinstance(entry.action, StreamStart)
        for index, stage in enumerate(entry.action.stream.group.stages)
    }


def _fences(stage: StreamStage | None, resolver: Resolver) -> tuple[Fence, ...]:
    """Around what a stage reads row by row, and what it writes."""
    if stage is None:
        return ()
    call = stage.call
    touched = [*call.reads.items(), (stage.output, Reach(call.step, call.first, call.first))]
    return tuple(
        Fence(
            resolver.place(tensor),
            row_bytes(tensor),
            resolver.rows(tensor),
            tensor.shape[1],
            reach,
        )
        for tensor, reach in touched
    )


def _state_buffer(state: MutableBuffer, resolver: Resolver, constants: ConstantPool) -> StateBuffer:
    data = np.ascontiguousarray(state.initial).tobytes()
    initial = constants.add(data) if any(data) else None
    return StateBuffer(state.tensor, Span(resolver.place(state.tensor), len(data)), initial)


def _scratch_blocks(scratch: Sequence[Sequence[int]]) -> list[ArenaBlock]:
    """Arena blocks for the scratch sizes of each step."""
    return [
        ArenaBlock((BlockUse(step, step, n),)) for step, sizes in enumerate(scratch) for n in sizes
    ]


def _progress_blocks(entries: Sequence[ScheduleEntry]) -> list[ArenaBlock]:
    """Arena blocks for the progress of the stages of each stream."""
    return [
        ArenaBlock((BlockUse(step, step + start.count, PROGRESS_BYTES * start.count),))
        for step, entry in enumerate(entries)
        if isinstance(start := entry.action, StreamStart)
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


def _peak(blocks: Sequence[ArenaBlock], memory: Liveness, scratch: Sequence[int]) -> Peak | None:
    if not scratch:
        return None
    used = arena.Steps(arena.in_use(blocks))
    sizes = [used.at(step) for step in range(len(scratch))]
    step = sizes.index(max(sizes))
    return Peak(step, sizes[step], memory.alive(step), scratch[step])
