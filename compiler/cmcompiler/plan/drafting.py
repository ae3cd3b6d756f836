"""From a graph to the draft of its plan: what runs in streams, and whose rows come from outside."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from math import inf

from cmcompiler.errors import Unsupported
from cmcompiler.importer.drain import drain_rows
from cmcompiler.importer.feed import feed_rows
from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.op import KernelCall, RowCall
from cmcompiler.ir.rows import image_rows
from cmcompiler.isa import Isa
from cmcompiler.ops.feed import Feed
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.arena import aligned
from cmcompiler.plan.choice import fastest, smallest
from cmcompiler.plan.draft import ARENA_LIMIT, Draft
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.runs.fitting import Fitting
from cmcompiler.plan.runs.run import Run
from cmcompiler.plan.runs.selection import RunSelection
from cmcompiler.plan.storage import share
from cmcompiler.plan.streams.grouping import Computation
from cmcompiler.plan.streams.search import Search
from cmcompiler.plan.timeline import peak, timeline
from cmcompiler.plan.whole import whole_calls

SLOWER = 0.02
"""Part of the instructions that rows may take more within a budget before runs are tried."""

_NAMED = 2
"""Tensors that an error names."""


class OverBudget(Unsupported):
    """No plan is within the budget."""


def make_draft(graph: Graph, isa: Isa, options: PlanOptions) -> Draft:
    """The best one for cores with `isa`.

    Raises:
        Unsupported: the arena needs 256 MiB or more; no stream takes the rows of an input that is
            to be fed; or no plan is within the budget.
    """
    every = graph.whole
    if options.wide:
        graph, every = _widened(graph), _widened(every)
    whole = _whole(graph, isa)
    # What streams may add is a share of the program's work with all channels: without those that
    # are left out, it would be too little for what the same rows need.
    room = options.surcharge * (whole if graph.pruning is None else _whole(every, isa)).effort
    most = room + whole.surcharge
    best: Draft | None = None
    failure: Unsupported | None = None
    for fed in _ways(graph, options):
        if best is not None and options.feed == "rows":
            break
        if best is not None and _is_hopeless(fed, best, options):
            continue
        try:
            draft = _draft(whole if fed is graph else _whole(fed, isa), options, most)
        except Unsupported as error:
            failure = error
            continue
        if options.budget is None and options.streams and not draft.streams:
            # Whole tensors may cost no more either for want of scratch.
            draft = draft.within(room, ARENA_LIMIT) or draft
        best = draft if best is None else _better(best, draft, room, options.budget)
    if best is None:
        assert failure is not None
        raise failure
    if options.budget is not None and options.streams:
        for fed in _ways(graph, options):
            best = _with_runs(fed, isa, best, options.budget)
    if options.budget is not None and best.size + SLACK > options.budget:
        raise _over(best, options.budget, _advice(best, graph, options))
    return best


def _widened(graph: Graph) -> Graph:
    return replace(graph, nodes=tuple(replace(node, op=node.op.widened) for node in graph.nodes))


def _ways(graph: Graph, options: PlanOptions) -> Iterator[Graph]:
    """The graph with its inputs and outputs by rows, or with whole ones, as requested: the first
    that is possible for `rows`, else any."""
    if options.feed != "whole" and options.streams:
        drained = drain_rows(graph)
        fed: Graph | None = None
        try:
            fed = feed_rows(graph)
        except Unsupported:
            if options.feed == "rows" and drained is graph:
                raise
        if drained is not graph:
            yield drained if fed is None else feed_rows(drained)
        if fed is not None:
            yield fed
    if options.feed != "rows":
        yield graph


def _is_hopeless(graph: Graph, best: Draft, options: PlanOptions) -> bool:
    """Whether its whole inputs alone need more than a plan that there is."""
    inputs = sum(aligned(port.tensor.nbytes) for port in graph.inputs if not port.fed)
    return inputs >= best.size and inputs + SLACK > (options.budget or 0)


def _whole(graph: Graph, isa: Isa) -> Draft:
    """Without streams."""
    _check_sizes(graph)
    sharing = share(graph)
    return Draft(graph, isa, sharing.storage, _calls(graph, isa, sharing.settled))


def _draft(draft: Draft, options: PlanOptions, most: float) -> Draft:
    """
    Args:
        draft: without streams, of the graph with its inputs and outputs by rows or whole.
        most: of instructions that streams may add.
    """
    by_rows: list[Sequence[RowCall]] = [()] * len(draft.calls)
    if options.streams or draft.needs_streams:
        by_rows = _row_calls(draft.graph, draft.isa, draft.calls)
    if options.budget is None:
        return smallest(draft, by_rows, most)
    return fastest(draft, by_rows, options.budget - SLACK)


def _with_runs(graph: Graph, isa: Isa, best: Draft, budget: int) -> Draft:
    """A draft of a graph with runs, if that fits a budget with fewer instructions, or where none
    fits, if it is smaller.
    """
    fits = best.size + SLACK <= budget
    if fits and best.surcharge <= SLOWER * best.effort:
        return best
    plain, limit = _whole(graph, isa), budget - SLACK
    by_rows = _row_calls(graph, isa, plain.calls)
    selection = RunSelection(graph, isa, by_rows, plain.effort, limit)

    known = dict(zip(graph.nodes, zip(plain.calls, by_rows, strict=True), strict=True))

    def least(changed: Graph) -> int:
        every = [known.get(node) or _calls_of_run(node, isa) for node in changed.nodes]
        calls, rows = zip(*every, strict=True)
        return Search(Computation(changed, share(changed).storage, calls, rows, isa)).least_peak

    for changed in Fitting(selection, least, limit).graphs():
        draft = _whole(changed, isa)
        fast = fastest(draft, _row_calls(changed, isa, draft.calls), limit)
        if fast.size <= limit and (not fits or fast.surcharge < best.surcharge):
            best, fits = fast, True
        elif not fits and fast.size < best.size:
            best = fast
    return best


def _calls_of_run(node: Node, isa: Isa) -> tuple[Sequence[KernelCall], Sequence[RowCall]]:
    rows = node.op.row_calls(node.inputs, node.outputs, isa)
    return [row.call for row in rows], rows


def _better(rows: Draft, whole: Draft, room: float, budget: int | None) -> Draft:
    """Whole inputs, unless rows make the arena smaller, or what fits the budget faster.

    Args:
        room: instructions that the former may add, or as many as the latter if those are more.
    """
    if budget is not None and max(rows.size, whole.size) + SLACK <= budget:
        return rows if rows.surcharge < whole.surcharge else whole
    is_cheap = budget is not None or rows.surcharge <= max(room, whole.surcharge)
    return rows if rows.size < whole.size and is_cheap else whole


def _over(draft: Draft, budget: int, advice: str | None) -> OverBudget:
    size, bound = draft.size + SLACK, draft.lower_bound + SLACK
    least = "no such plan needs less" if size == bound else f"any such plan needs {bound:,}"
    if any(isinstance(node.op, Run) for node in draft.graph.nodes):
        least = "no smaller plan was found"
    return OverBudget(
        f"the arena needs {size:,} bytes, {size - budget:,} over the budget of {budget:,}; {least}",
        advice,
    )


def _advice(draft: Draft, graph: Graph, options: PlanOptions) -> str | None:
    """A way to an arena smaller than this one, which is the smallest with such options."""
    others = [(replace(options, streams=True), "without --no-streams")]
    if options.feed is not None:
        other = "rows" if options.feed == "whole" else "whole"
        others.append((replace(options, streams=True, feed=other), f"--feed {other}"))
    for changed, advice in others:
        try:
            least = make_draft(graph, draft.isa, replace(changed, budget=None, surcharge=inf))
        except Unsupported:
            continue
        if least.size < draft.size:
            return f"{advice}: {least.size + SLACK:,} bytes"
    if any(port.tensor.dtype.itemsize > 1 for port in draft.graph.inputs):
        return "--io int8 makes inputs and outputs smaller"
    most = peak(draft, timeline(draft))
    if most is None:
        return None
    node = draft.graph.nodes[draft.schedule.entries[most.step].node]
    largest = sorted(most.tensors, key=lambda tensor: -tensor.nbytes)[:_NAMED]
    names = ", ".join(f"{tensor.name} of {tensor.nbytes:,} bytes" for tensor in largest)
    return f"smaller tensors at {node.source}, where most is in use: {names}"


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
        else whole_calls(node, isa)
        for index, node in enumerate(graph.nodes)
    ]


def _row_calls(
    graph: Graph, isa: Isa, calls: Sequence[Sequence[KernelCall]]
) -> list[Sequence[RowCall]]:
    """Calls that compute each node row by row; none for what is computed as a whole."""
    return [
        tuple(_rows_of(node, isa)) if whole and not node.guards else ()
        for node, whole in zip(graph.nodes, calls, strict=True)
    ]


def _rows_of(node: Node, isa: Isa) -> Sequence[RowCall]:
    """The calls that make an image of more than a row, or one result, from images."""
    is_outside = isinstance(node.op, Feed)  # whose input may have any shape
    if len(node.outputs) != 1 or not (is_outside or all(map(image_rows, node.inputs[:1]))):
        return ()
    calls = node.op.row_calls(node.inputs, node.outputs, isa)
    if (image_rows(node.outputs[0]) or 1) == 1 and not all(call.accumulates for call in calls):
        return ()
    return calls if all(map(image_rows, (t for call in calls for t in call.reads))) else ()
