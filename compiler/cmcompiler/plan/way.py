"""A graph with its inputs and outputs by rows or whole, and what its drafts have in common."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cmcompiler.errors import Unsupported
from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.op import KernelCall, RowCall
from cmcompiler.ir.rows import image_rows
from cmcompiler.isa import Isa
from cmcompiler.ops.feed import Feed
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.choice import fastest, smallest
from cmcompiler.plan.draft import ARENA_LIMIT, Draft
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.runs.fitting import Fitting
from cmcompiler.plan.runs.partition import Choices, Partition
from cmcompiler.plan.runs.selection import RunSelection
from cmcompiler.plan.storage import share
from cmcompiler.plan.streams.grouping import Computation
from cmcompiler.plan.streams.search import Search
from cmcompiler.plan.streams.turns import Rows
from cmcompiler.plan.strips import is_striped
from cmcompiler.plan.whole import whole_calls

FEW = 3
"""Sets of streams that are laid out where many budgets are compared."""

TIGHTER = (0.0, 1 / 32, 1 / 24, 1 / 16, 1 / 12)
"""Parts of a limit that sets of runs leave free for gaps of the layout: the next one where the set
with the fewest instructions does not fit."""

Calls = tuple[Sequence[KernelCall], Sequence[RowCall]]
"""Calls of a node that compute it as a whole, and row by row."""


@dataclass(frozen=True, eq=False)
class Way:
    """A graph of which several drafts are made, each as if it were the only one.

    Attributes:
        streams: whether nodes may be computed in streams, besides those that cannot do without.
        known: calls of some nodes.
        measured: rows of groups, also of those in other graphs.
        in_whole: see Computation.
        like: a way of the same graph, whose runs are chosen from here, too; None: from its own.
    """

    graph: Graph
    isa: Isa
    streams: bool = True
    known: Mapping[Node, Calls] = field(default_factory=dict)
    measured: dict[Hashable, Rows] = field(default_factory=dict)
    in_whole: bool = True
    like: Way | None = None
    _changed: dict[Graph, Way] = field(default_factory=dict, init=False)

    @cached_property
    def whole(self) -> Draft:
        """The draft without streams.

        Raises:
            Unsupported: a tensor is larger than any memory.
        """
        _check_sizes(self.graph)
        sharing = share(self.graph)
        calls = [
            ()
            if node.op.view_of is not None or index in sharing.settled or node.is_empty
            else self._whole_calls(node)
            for index, node in enumerate(self.graph.nodes)
        ]
        return Draft(self.graph, self.isa, sharing.storage, calls)

    def _whole_calls(self, node: Node) -> Sequence[KernelCall]:
        known, _ = self.known.get(node, ((), ()))
        return known or whole_calls(node, self.isa)

    @cached_property
    def row_calls(self) -> list[Sequence[RowCall]]:
        """Calls that compute each node row by row; none for what is computed as a whole."""
        if not self.streams and not self.whole.needs_streams:
            return [()] * len(self.graph.nodes)
        return [
            self._row_calls(node) if whole and not node.guards else ()
            for node, whole in zip(self.graph.nodes, self.whole.calls, strict=True)
        ]

    def _row_calls(self, node: Node) -> Sequence[RowCall]:
        _, known = self.known.get(node, ((), ()))
        return known or tuple(_rows_of(node, self.isa))

    @cached_property
    def search(self) -> Search:
        """The search for streams, which each draft starts anew."""
        whole = self.whole
        computation = Computation(
            self.graph,
            whole.storage,
            whole.calls,
            self.row_calls,
            self.isa,
            self.measured,
            self.in_whole,
        )
        return Search(computation)

    def draft(self, options: PlanOptions, most: float) -> Draft:
        """The smallest draft, or the fastest one within a budget.

        Args:
            most: instructions that streams may add to the former.

        Raises:
            Unsupported: an input is fed, but an operator needs all of it.
        """
        if options.budget is not None:
            return self.fastest(options.budget - SLACK)
        return smallest(self.whole, self.search.anew, most)

    def with_runs(self, limit: int) -> Iterator[Draft]:
        """The fastest drafts with some sets of runs that are likely to fit; the smallest one if
        none does.

        Args:
            limit: bytes.
        """
        fits = False
        for part in TIGHTER:
            graphs = self._fitting.graphs(limit - round(part * limit))
            drafts = [self._with(graph).fastest(limit) for graph in graphs]
            yield from drafts
            fits = fits or any(draft.size <= limit for draft in drafts)
            if drafts and drafts[0].size <= limit:
                return
            if drafts and not part and not is_striped(self.graph):
                repaired = next(self._repaired(limit), None)
                if repaired is not None:
                    yield repaired
                    return
        if fits:
            return
        for way in (self, self.in_rings) if self.in_whole else (self,):
            graph = way._fitting.smallest
            if graph is not None:
                yield way._with(graph).fastest(limit)

    @cached_property
    def in_rings(self) -> Way:
        """The same without inputs in the places of whole results."""
        known = self._every, self.measured
        return Way(self.graph, self.isa, self.streams, *known, in_whole=False, like=self)

    def _repaired(self, limit: int) -> Iterator[Draft]:
        """Drafts that fit, as smaller tiles of one run of the best set leave room for gaps."""
        for graph in self._fitting.smaller(limit):
            draft = self._with(graph).roughly_fastest(limit)
            if draft.size <= limit:
                yield draft

    def run_costs(self, limit: int) -> dict[Choices, float]:
        """Sets of runs that fit so many bytes, and instructions, roughly, that streams with these
        take more than whole tensors.
        """
        return self._fitting.costs(limit)

    @property
    def smallest_runs(self) -> tuple[Choices, int]:
        """The set of runs that needs the fewest bytes, and how many."""
        runs = self._fitting.smallest_set
        return runs, self._with(self._fitting.selection.graph(runs)).search.least_peak

    def fastest(self, limit: int) -> Draft:
        """The draft with the fewest instructions in so many bytes; the smallest one if none fits.

        Raises:
            Unsupported: as `draft`.
        """
        return fastest(self.whole, self.search.anew, limit)

    def roughly_fastest(self, limit: int) -> Draft:
        """As `fastest`, after fewer trials."""
        return fastest(self.whole, self.search.anew, limit, FEW)

    @cached_property
    def _selection(self) -> RunSelection:
        if self.like is not None:
            return self.like._selection
        return RunSelection(self.graph, self.isa, self.row_calls, self.whole.effort)

    @cached_property
    def _fitting(self) -> Fitting:
        partition = Partition(self._selection, self.search, self._searched)
        return Fitting(self._selection, partition, self._searched)

    def _searched(self, runs: Choices) -> Search:
        """The search in the graph with some runs."""
        return self._with(self._selection.graph(runs)).search

    def _with(self, graph: Graph) -> Way:
        """The graph with some runs of this one's nodes."""
        if graph not in self._changed:
            self._changed[graph] = Way(
                graph, self.isa, known=self._every, measured=self.measured, in_whole=self.in_whole
            )
        return self._changed[graph]

    @cached_property
    def _every(self) -> Mapping[Node, Calls]:
        calls = zip(self.whole.calls, self.row_calls, strict=True)
        return dict(zip(self.graph.nodes, calls, strict=True))


def _check_sizes(graph: Graph) -> None:
    """Refuses what can never fit, before any op packs its tables."""
    tensors = [tensor for node in graph.nodes for tensor in (*node.inputs, *node.outputs)]
    for tensor in (*tensors, *(port.tensor for port in (*graph.inputs, *graph.outputs))):
        if tensor.nbytes >= ARENA_LIMIT:
            raise Unsupported(f"{tensor.name} needs {tensor.nbytes:,} bytes, more than 256 MiB")


def _rows_of(node: Node, isa: Isa) -> Sequence[RowCall]:
    """The calls that make an image of more than a row, or one result, from images."""
    is_outside = isinstance(node.op, Feed)  # whose input may have any shape
    if len(node.outputs) != 1 or not (is_outside or all(map(image_rows, node.inputs[:1]))):
        return ()
    calls = node.op.row_calls(node.inputs, node.outputs, isa)
    is_pixel = (image_rows(node.outputs[0]) or 1) == 1
    if is_pixel and not all(call.accumulates or call.tiled for call in calls):
        return ()
    return calls if all(map(image_rows, (t for call in calls for t in call.reads))) else ()
