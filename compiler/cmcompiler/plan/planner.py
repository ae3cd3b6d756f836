"""From a graph to its plan: kernel calls resolved to words, constants packed, arena laid out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from cmcompiler.ir.arithmetic import arithmetics
from cmcompiler.ir.channels import channel_count
from cmcompiler.ir.graph import Graph, MutableBuffer, Node
from cmcompiler.ir.op import (
    DRAIN,
    FEED,
    OUTSIDE,
    TILES,
    KernelCall,
    Op,
    Reach,
    Scratch,
    TiledCall,
    TileRows,
)
from cmcompiler.ir.rows import row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.feed import Feed
from cmcompiler.ops.strip import JoinedStrips, Strip
from cmcompiler.plan.abi import (
    BRANCH,
    CONTROL_AGAIN,
    CONTROL_BRANCH,
    CONTROL_DRAIN,
    CONTROL_FEED,
    SLACK,
    STREAM,
)
from cmcompiler.plan.borrowing import borrow
from cmcompiler.plan.constants import ConstantPool
from cmcompiler.plan.draft import Draft
from cmcompiler.plan.drafting import make_draft
from cmcompiler.plan.options import SMALLEST, PlanOptions
from cmcompiler.plan.plan import Argument, Fence, Plan, PlanStep, Ref, Span, StateBuffer
from cmcompiler.plan.resolver import Resolver
from cmcompiler.plan.runs.run import Run
from cmcompiler.plan.runs.tile_calls import TileCalls
from cmcompiler.plan.schedule import BranchStart, StreamStart
from cmcompiler.plan.scratch import with_units
from cmcompiler.plan.storage import Storage
from cmcompiler.plan.streams.encoding import PROGRESS_BYTES, encode
from cmcompiler.plan.streams.group import StreamStage
from cmcompiler.plan.streams.stream import Stream
from cmcompiler.plan.streams.turns import calls_in_turn
from cmcompiler.plan.timeline import peak, timeline


def make_plan(graph: Graph, isa: Isa, options: PlanOptions = SMALLEST) -> Plan:
    """The plan of `graph` for cores with `isa`.

    Raises:
        Unsupported: the arena needs 256 MiB, or the constants 2 GiB, or more; no stream takes
            the rows of an input that is to be fed; or no plan is within the budget.
    """
    return plan_of(make_draft(borrow(graph, isa), isa, options))


def plan_of(draft: Draft) -> Plan:
    """The plan that a draft becomes."""
    graph, isa = draft.graph, draft.isa
    schedule, memory, grown = draft.schedule, draft.memory, draft.grown
    chosen = draft.streams
    constants = ConstantPool()
    rings = {tensor: rows for stream in chosen for tensor, rows in stream.rings.items()}
    passing = {guest for stream in chosen for guest in stream.hosts}
    resolver = Resolver(memory, grown.offsets, constants, rings, len(chosen))
    drained = {port.tensor for port in graph.outputs if port.fed}
    exact = exact_tensors(graph, lambda op: op.exact)
    arithmetic = arithmetics(graph)
    stages, joined = draft.stages, _joined(graph)
    before = graph.before
    steps = []
    for index, (entry, units) in enumerate(zip(schedule.entries, grown.units, strict=True)):
        node = graph.nodes[entry.node]
        if isinstance(entry.action, BranchStart):
            steps.append(_branch_step(entry.node, entry.action, resolver))
            continue
        if isinstance(entry.action, StreamStart):
            steps.append(_stream_step(entry.node, entry.action, resolver))
            continue
        is_strip = _is_strip(node.op)
        call, is_last = with_units(entry.action, units), index == schedule.spans[entry.node][-1]
        tiled, made = draft.tiled.get(index), node
        tiles: tuple[TileCalls, ...] = ()
        if tiled is not None:
            assert isinstance(node.op, Run)
            made = node.op.layer(tiled) or node
            tiles = tuple(node.op.tile_calls(tiled))
        # For all of what it computes.
        counts = is_last if tiled is None else tiled.part is not None
        if call.kernel in OUTSIDE:
            control = CONTROL_FEED if call.kernel == FEED else CONTROL_DRAIN
            if isinstance(node.op, Feed) and node.op.columns is not None:
                control = CONTROL_AGAIN
            call = replace(call, arguments=[("control", control), *call.arguments])
        arguments = resolver.arguments(call)
        steps.append(
            PlanStep(
                node=entry.node,
                title=STREAM if call.kernel == TILES else made.op.title,
                source=made.source,
                kernel=call.kernel,
                arguments=arguments,
                rows=call.rows,
                microkernel=call.microkernel.name if call.microkernel else None,
                provider=call.microkernel.provider(isa) if call.microkernel else None,
                macs=made.op.macs if counts else 0,
                whole_macs=before.macs_of(made) if counts else 0,
                elements=sum(prod(t.shape) for t in made.outputs) if counts else 0,
                scratch=_scratch_spans(call, arguments),
                writes=tuple(
                    t
                    for t in (joined.get(entry.node, ()) if is_strip else node.outputs)
                    if is_last and t not in rings and t not in passing and t not in drained
                ),
                exact=all(tensor in exact for tensor in node.outputs),
                arithmetic=arithmetic[entry.node],
                form=call.form,
                family=call.family,
                tiles=tiles,
                fences=_fences(
                    _touched(stages.get(index), tiled, _places(node, draft.storage)),
                    resolver,
                    draft.scope(index),
                ),
                channels=before.channels(made.outputs[0]),
                live_channels=channel_count(made.outputs[0]),
            )
        )
    for port in (*graph.inputs, *graph.outputs):
        if not port.fed:
            resolver.place(port.tensor)
    states = tuple(_state_buffer(state, resolver, constants) for state in graph.states)
    uses = timeline(draft)
    return Plan(
        name=graph.name,
        isa=isa,
        steps=tuple(steps),
        constants=constants.bytes(),
        arena_bytes=draft.size + SLACK,
        places=resolver.places,
        inputs=graph.inputs,
        outputs=graph.outputs,
        timeline=uses,
        peak=peak(draft, uses),
        least_bytes=draft.lower_bound + SLACK,
        exact_outputs=tuple(port.tensor in exact for port in graph.outputs),
        states=states,
    )


def _joined(graph: Graph) -> dict[int, Sequence[Tensor]]:
    """The image that is there after the last of its strips, by the index of that node."""
    makers = {tensor: i for i, node in enumerate(graph.nodes) for tensor in node.outputs}
    joins = (node for node in graph.nodes if isinstance(node.op, JoinedStrips))
    return {max(makers[strip] for strip in node.inputs): node.outputs for node in joins}


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
        turns=calls_in_turn(group, resolver.rows),
    )


def _touched(
    entry: tuple[Stream, StreamStage] | None,
    tiled: TiledCall | None,
    places: Mapping[Tensor, Tensor],
) -> Sequence[tuple[Tensor | TileRows, Reach]]:
    """Images that a stage, or a call of a run, reads row by row, and the rows that it writes.

    Args:
        places: the images that strips are parts of.
    """
    if tiled is not None:
        return [
            (each if isinstance(each, TileRows) else places.get(each, each), reach)
            for each, reach in tiled.touched
        ]
    if entry is None:
        return ()
    _, stage = entry
    call = stage.call
    written = places.get(stage.output, stage.output)
    touched: list[tuple[Tensor | TileRows, Reach]] = list(call.reads.items())
    if call.call.kernel != DRAIN and not call.accumulates:
        touched.append((written, Reach(call.step, call.first, call.first)))
    return touched


def _is_strip(op: Op) -> bool:
    return isinstance(op, Strip) or (isinstance(op, Run) and op.strip is not None)


def _places(node: Node, storage: Mapping[Tensor, Storage]) -> Mapping[Tensor, Tensor]:
    """The image that a strip is a part of, whose rows it has."""
    return {t: storage[t].owner for t in node.outputs} if _is_strip(node.op) else {}


def _fences(
    touched: Sequence[tuple[Tensor | TileRows, Reach]], resolver: Resolver, run: range
) -> tuple[Fence, ...]:
    """
    Args:
        run: the steps of the run that touches it.
    """
    return tuple(_fence(image, reach, resolver, run) for image, reach in touched)


def _fence(image: Tensor | TileRows, reach: Reach, resolver: Resolver, run: range) -> Fence:
    if isinstance(image, TileRows):
        place = resolver.part(image.place)
        fence = Fence(place, image.row_bytes, image.ring, image.height, reach)
        return fence if image.place.kept else replace(fence, scope=run)
    place, height = resolver.place(image), image.shape[1]
    return Fence(place, row_bytes(image), resolver.rows(image), height, reach)


def _state_buffer(state: MutableBuffer, resolver: Resolver, constants: ConstantPool) -> StateBuffer:
    data = np.ascontiguousarray(state.initial).tobytes()
    initial = constants.add(data) if any(data) else None
    return StateBuffer(state.tensor, Span(resolver.place(state.tensor), len(data)), initial)


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
