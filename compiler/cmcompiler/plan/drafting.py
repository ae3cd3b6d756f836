"""From a graph to the draft of its plan: what runs in streams, and whose rows come from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from math import inf, isfinite, log

from cmcompiler.errors import Unsupported
from cmcompiler.ir.graph import Graph, Port
from cmcompiler.isa import Isa
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.arena import aligned
from cmcompiler.plan.draft import ARENA_LIMIT, Draft
from cmcompiler.plan.drain import drain_rows
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.gathering import gathered
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.runs.run import Run
from cmcompiler.plan.strip_ways import StripWays
from cmcompiler.plan.strips import is_striped
from cmcompiler.plan.timeline import peak, timeline
from cmcompiler.plan.way import Way

SLOWER = 0.02
"""Part of the instructions that rows may take more within a budget before runs are tried."""

PRICE = 6.5
"""Percent of the arena that a percent of the instructions has to save, where channels are left out:
there the room for streams is a share of more work than is done.
"""

PRICED = (0.98, 1.02, 1.045, 1.07, 1.1)
"""Arenas that are compared with the smallest one there."""

LESS = 32
"""One part in so many by which the smallest plan that is found has to be beaten by the next."""

_NAMED = 2
"""Tensors that an error names."""


class OverBudget(Unsupported):
    """No plan is within the budget."""


def make_draft(graph: Graph, isa: Isa, options: PlanOptions) -> Draft:
    """The best one for cores with `isa`; raises as `Drafting.within`."""
    return Drafting(graph, isa, options).within(options.budget)


class Drafting:
    """Drafts of a graph for cores with `isa`, within several budgets: each as if it were the only
    one, for less time.

    Args:
        options: all but the budget.
    """

    def __init__(self, graph: Graph, isa: Isa, options: PlanOptions) -> None:
        self._graph = _widened(graph) if options.wide else graph
        self._every = _widened(graph.whole) if options.wide else graph.whole
        self._isa, self._options = isa, options
        self._whole = Way(self._graph, isa, options.streams)
        reading_less = gathered(graph)
        self._gathered = None if reading_less is graph else Drafting(reading_less, isa, options)

    @cached_property
    def _room(self) -> float:
        """Instructions that streams may add: a share of the program's work with all channels,
        as without those that are left out it would be too little for what the same rows need.
        """
        every = self._whole if self._graph.pruning is None else Way(self._every, self._isa)
        return self._options.surcharge * every.whole.effort

    def within(self, budget: int | None) -> Draft:
        """The best one: within a budget the one with the fewest instructions, else the smallest.

        Raises:
            Unsupported: as `nearest`; or no plan is within the budget.
        """
        best = self.nearest(budget)
        if budget is not None and best.size + SLACK > budget:
            raise _over(best, budget, _advice(best, self._graph, self._options))
        return best

    def nearest(self, budget: int | None) -> Draft:
        """As `within`; the smallest one if none is within the budget.

        Raises:
            Unsupported: the arena needs 256 MiB or more; or no stream takes the rows of an input
                that is to be fed.
        """
        best = self._nearest(budget)
        if self._gathered is None:
            return best
        return self._worthier(best, self._gathered.nearest(budget), budget)

    def cost(self, draft: Draft) -> float:
        """Instructions of one of these drafts more than those of the graph on whole tensors."""
        if is_striped(draft.graph):
            return draft.surcharge + draft.effort - self._whole.whole.effort
        if self._gathered is None or not draft.graph.before.is_gathered:
            return draft.surcharge
        return draft.surcharge + self._gathered._whole.whole.effort - self._whole.whole.effort

    def _worthier(self, plain: Draft, other: Draft, budget: int | None) -> Draft:
        """The better of two drafts, one of whose graphs has copies."""
        if budget is not None:
            fitting = [each for each in (plain, other) if each.size + SLACK <= budget]
            if len(fitting) == 2:
                return min(fitting, key=self.cost)
        elif isfinite(self._room):
            return min(plain, other, key=_value)
        return min(plain, other, key=lambda each: each.size)

    def _nearest(self, budget: int | None) -> Draft:
        options = replace(self._options, budget=budget)
        room = self._room
        most = room + self._whole.whole.surcharge
        best: Draft | None = None
        failure: Unsupported | None = None
        for way in self._ways:
            if best is not None and options.by_rows:
                break
            if best is not None and _is_hopeless(way.graph, best, options):
                continue
            try:
                draft = way.draft(options, most)
            except Unsupported as error:
                failure = error
                continue
            if budget is None and options.streams and not draft.streams:
                # Whole tensors may cost no more either for want of scratch.
                draft = draft.within(room, ARENA_LIMIT) or draft
            best = draft if best is None else _better(best, draft, room, budget)
        if best is None:
            assert failure is not None
            raise failure
        if not options.streams:
            return best
        if budget is not None:
            for way in self._ways:
                best = _with_runs(way, best, options)
            if options.feed == "again":
                best = self._in_strips(best, budget - SLACK)
        elif self._graph.pruning is not None and best.streams and isfinite(room):
            best = self._worth_its_price(best)
        return best

    def _in_strips(self, best: Draft, limit: int) -> Draft:
        """The best draft, or one whose first operators compute strips."""
        if best.size <= limit and self.cost(best) <= SLOWER * best.effort:
            return best
        best = _fitting(best, self._striped(limit), limit, self.cost)
        return best if best.size <= limit else _fitting(best, self._small, limit, self.cost)

    def _striped(self, limit: int) -> Iterator[Draft]:
        """Drafts with strips that are likely to fit."""
        for strips in (self._strips, self._strips.in_rings):
            drafts = [*_within_strips(strips, limit)]
            yield from drafts
            if any(draft.size <= limit for draft in drafts):
                return

    @cached_property
    def _small(self) -> list[Draft]:
        """Drafts with strips in less and less memory, whatever the budget."""
        drafts: list[Draft] = []
        most, least, smallest = self._ways[0].search.least_peak, ARENA_LIMIT, self._strips
        for strips in (self._strips, self._strips.in_rings):
            way = strips.smallest(most)
            own = [] if way is None else [*way.with_runs(0)]
            size = _least(own)
            least, smallest = (size, strips) if size <= least else (least, smallest)
            drafts += own
        while least < ARENA_LIMIT:
            tighter = [*_within_strips(smallest, least - least // LESS)]
            drafts += tighter
            size = _least(tighter)
            least = size if size < least else ARENA_LIMIT
        return drafts

    @cached_property
    def _strips(self) -> StripWays:
        return StripWays.of(self._ways[0].graph, self._isa)

    def _worth_its_price(self, smallest: Draft) -> Draft:
        """The smallest draft, or one of about its size that is worth more."""
        way = next(way for way in self._ways if way.graph is smallest.graph)
        limits = (int(smallest.size * share) for share in PRICED)
        return min([smallest, *map(way.roughly_fastest, limits)], key=_value)

    @cached_property
    def _ways(self) -> list[Way]:
        """The graph with its inputs and outputs by rows, or with whole ones, as requested: the
        first that is possible for `rows`, else any.
        """
        whole = self._whole
        return [
            whole
            if graph is self._graph
            else Way(graph, self._isa, self._options.streams, measured=whole.measured)
            for graph in _by_rows(self._graph, self._options)
        ]


def _widened(graph: Graph) -> Graph:
    return replace(graph, nodes=tuple(replace(node, op=node.op.widened) for node in graph.nodes))


def _by_rows(graph: Graph, options: PlanOptions) -> Iterator[Graph]:
    if options.feed != "whole" and options.streams:
        drained = drain_rows(graph)
        fed: Graph | None = None
        try:
            fed = feed_rows(graph)
        except Unsupported:
            if options.by_rows and drained is graph:
                raise
        if drained is not graph:
            yield drained if fed is None else feed_rows(drained)
        if fed is not None:
            yield fed
    if not options.by_rows:
        yield graph


def _is_hopeless(graph: Graph, best: Draft, options: PlanOptions) -> bool:
    """Whether its whole inputs alone need more than a plan that there is."""
    inputs = sum(aligned(port.tensor.nbytes) for port in graph.inputs if not port.fed)
    return inputs >= best.size and inputs + SLACK > (options.budget or 0)


def _with_runs(way: Way, best: Draft, options: PlanOptions) -> Draft:
    """A draft with runs, if that fits the budget with fewer instructions, or where none fits, if
    it is smaller.
    """
    assert options.budget is not None
    limit = options.budget - SLACK
    if best.size <= limit and best.surcharge <= SLOWER * best.effort:
        return best
    if _is_hopeless(way.graph, best, options):
        return best
    return _fitting(best, way.with_runs(limit), limit, lambda draft: draft.surcharge)


def _within_strips(strips: StripWays, limit: int) -> Iterator[Draft]:
    """Drafts with such strips that are likely to fit."""
    for way in strips.within(limit):
        yield way.fastest(limit)
        yield from way.with_runs(limit)


def _least(drafts: Iterable[Draft]) -> int:
    """Bytes of the smallest one."""
    return min((draft.size for draft in drafts), default=ARENA_LIMIT)


def _fitting(
    best: Draft, drafts: Iterable[Draft], limit: int, cost: Callable[[Draft], float]
) -> Draft:
    """The best draft, or one that fits with fewer instructions; the smallest if none fits."""

    def rank(draft: Draft) -> tuple[bool, float]:
        is_over = draft.size > limit
        return is_over, draft.size if is_over else cost(draft)

    return min([best, *drafts], key=rank)


def _better(rows: Draft, whole: Draft, room: float, budget: int | None) -> Draft:
    """Whole inputs, unless rows make the arena smaller, or what fits the budget faster.

    Args:
        room: instructions that the former may add, or as many as the latter if those are more.
    """
    if budget is not None and max(rows.size, whole.size) + SLACK <= budget:
        return rows if rows.surcharge < whole.surcharge else whole
    is_cheap = budget is not None or rows.surcharge <= max(room, whole.surcharge)
    return rows if rows.size < whole.size and is_cheap else whole


def _value(draft: Draft) -> float:
    """The less the better: a percent of the instructions counts like PRICE of the arena."""
    return log(draft.size + SLACK) + PRICE * log(draft.effort + draft.surcharge)


def _over(draft: Draft, budget: int, advice: str | None) -> OverBudget:
    size, bound = draft.size + SLACK, draft.lower_bound + SLACK
    least = "no such plan needs less" if size == bound else f"any such plan needs {bound:,}"
    if any(isinstance(node.op, Run) for node in draft.graph.nodes):
        least = "no smaller plan was found"
    return OverBudget(
        f"the arena needs {size:,} bytes, {size - budget:,} over the budget of {budget:,}; {least}",
        advice,
    )


def _stored(port: Port) -> str | None:
    """The type that a float port would have without its conversion, if it has one."""
    if port.tensor.dtype.kind != "f" or port.quantization is None or port.note:
        return None
    return port.quantization.activations


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
    stored = [_stored(port) for port in draft.graph.inputs]
    if smaller := {each for each in stored if each}:
        return f"--io {'int8' if 'int8' in smaller else 'int16'} makes inputs and outputs smaller"
    most = peak(draft, timeline(draft))
    if most is None:
        return None
    node = draft.graph.nodes[draft.schedule.entries[most.step].node]
    largest = sorted(most.tensors, key=lambda tensor: -tensor.nbytes)[:_NAMED]
    names = ", ".join(f"{tensor.name} of {tensor.nbytes:,} bytes" for tensor in largest)
    return f"smaller tensors at {node.source}, where most is in use: {names}"
