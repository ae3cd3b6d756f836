"""Which operators of a graph to compute as runs, for less memory than rows need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from math import inf

from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.op import OUTSIDE, RowCall, Tensors
from cmcompiler.ir.rows import row_bytes
from cmcompiler.isa import Isa
from cmcompiler.plan.runs.calls import TileImages
from cmcompiler.plan.runs.chains import Chain, Tail, chains, contracted, is_possible, tails
from cmcompiler.plan.runs.run import TiledRun
from cmcompiler.plan.runs.slices import SlicedRun
from cmcompiler.plan.scratch import kept_scratch
from cmcompiler.plan.streams.costs.runs import slicing_cost, tiling_cost
from cmcompiler.plan.streams.costs.surcharge import surcharge

COLUMNS = (2, 3, 4, 6, 8, 12, 18, 24, 36)
"""Columns of tiles to choose from."""

BANDS = (1, 2, 4)
"""Rows at once to choose from."""

CHANNELS = (16, 32, 64, 128)
"""Channels of slices to choose from."""

NEAR = 4
"""Nodes between which a run makes room for one beside it."""

FREE = 0.001
"""Part of all instructions that a run may take and still be worth it whatever the memory."""

SHARES = (2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Limits of the bytes of tiles: the memory that rows need, divided by each."""

PRICES = range(-7, 6)
"""Instructions of a byte, as powers of two of what a byte of the arena costs on average."""


@dataclass(frozen=True, eq=False)
class StageChoice:
    """Nodes [start, end) of a graph as one stage.

    Attributes:
        run: None for a node as it is.
        cost: instructions, roughly, more than as a whole.
        tiles: bytes of scratch.
        read: bytes of the rows that it reads or keeps, roughly.
    """

    start: int
    end: int
    run: tuple[Chain | Tail, Node] | None
    cost: float
    tiles: int
    read: int

    def overlaps(self, other: StageChoice) -> bool:
        """Whether some nodes belong to both."""
        return self.start < other.end and other.start < self.end

    def is_alike(self, other: StageChoice) -> bool:
        """Whether both have the same nodes."""
        return (self.start, self.end) == (other.start, other.end)

    def is_within(self, nodes: range) -> bool:
        return nodes.start <= self.start and self.end <= nodes.stop


class RunSelection:
    """The sets of runs for which instructions and memory together cost least, at several prices.

    A set is a shortest path over the nodes. Memory is the rows that each stage reads, the tiles of
    a run at most as large as a limit.

    Args:
        row_calls: those that compute each node row by row, if that is possible.
        effort: instructions of the graph.
    """

    def __init__(
        self,
        graph: Graph,
        isa: Isa,
        row_calls: Sequence[Sequence[RowCall]],
        effort: float,
    ) -> None:
        self._graph, self._isa, self._row_calls, self._effort = graph, isa, row_calls, effort
        self._sets: dict[int, Mapping[int, list[tuple[StageChoice, ...]]]] = {}
        self._impossible: set[StageChoice] = set()
        self._useful: dict[int, list[StageChoice]] = {}
        self._known: dict[tuple[StageChoice, ...], Graph] = {}

    def sets(self, size: int) -> Mapping[int, list[tuple[StageChoice, ...]]]:
        """For each limit of tiles, sets from the fewest instructions to the least memory.

        Args:
            size: bytes that rows need at least.
        """
        if size not in self._sets:
            average, limits = self._effort / size, (size // share for share in SHARES)
            self._sets[size] = {most: self._within(most, average) for most in limits}
        return self._sets[size]

    def _within(self, most: int, average: float) -> list[tuple[StageChoice, ...]]:
        """
        Args:
            most: bytes of tiles.
            average: what a byte of the arena costs.
        """
        every = (self._possible(most, average * 2.0**power) for power in PRICES)
        return [chosen for chosen in dict.fromkeys(every) if chosen]

    def graph(self, options: tuple[StageChoice, ...]) -> Graph:
        """The graph with such runs."""
        if options not in self._known:
            runs = [option.run for option in options if option.run is not None]
            self._known[options] = contracted(self._graph, runs)
        return self._known[options]

    def is_free(self, choice: StageChoice) -> bool:
        """Whether it takes so few instructions that more memory for others is no reason to go
        without it.
        """
        return choice.cost < FREE * self._effort

    def is_possible(self, choice: StageChoice) -> bool:
        """Whether its kernels take such tiles."""
        return choice.run is None or is_possible(choice.run[1], self._isa)

    def cheaper(self, choice: StageChoice) -> list[list[StageChoice]]:
        """Other tiles of the same nodes, and of some of them, that take fewer instructions: of
        each nodes from those with the fewest to those with the least memory.
        """
        every = (
            [option for option in same if option.cost < choice.cost]
            for (start, end), same in self._by_need.items()
            if choice.start <= start and end <= choice.end
        )
        return sorted((same for same in every if same), key=lambda same: same[0].cost)

    def smaller(self, choice: StageChoice) -> list[StageChoice]:
        """Tiles of the same nodes that take fewer bytes."""
        same = self._by_nodes[choice.start, choice.end]
        most = choice.read + choice.tiles
        return [o for o in same if o.read + o.tiles < most and self.is_possible(o)]

    @cached_property
    def _by_need(self) -> dict[tuple[int, int], list[StageChoice]]:
        """The runs of the same nodes of which none needs more bytes for more instructions."""
        every: dict[tuple[int, int], list[StageChoice]] = {}
        for nodes, same in self._by_nodes.items():
            least = accumulate((option.read + option.tiles for option in same), min, initial=inf)
            every[nodes] = [
                o for o, most in zip(same, least, strict=False) if o.read + o.tiles < most
            ]
        return every

    def pairs(
        self, chosen: tuple[StageChoice, ...], run: StageChoice, spare: int
    ) -> Iterator[tuple[StageChoice, ...]]:
        """Sets in which other tiles of a run, and a run right beside it, take fewer instructions
        together, the fewest first.

        Args:
            spare: bytes that they may need more, roughly.
        """
        nodes = range(max(run.start - NEAR, 0), min(run.end + NEAR, len(self._graph.nodes)))
        near = [o for same in self._by_nodes.values() for o in same if o.is_within(nodes)]
        same = [run, *(o for o in self._by_nodes[run.start, run.end] if o.cost < run.cost)]
        allowed = self._need(chosen, nodes) + spare
        pairs: list[tuple[float, tuple[StageChoice, ...]]] = []
        for extra in near:
            rest = tuple(o for o in chosen if o is not run and not extra.overlaps(o))
            saved = sum(o.cost for o in chosen if o not in rest) - extra.cost
            if extra.overlaps(run) or saved <= 0:
                continue
            for other in same:
                changed = (*rest, extra, other)
                if other.cost < saved and self._need(changed, nodes) <= allowed:
                    pairs.append((saved - other.cost, changed))
        for _, changed in sorted(pairs, key=lambda pair: -pair[0]):
            yield changed

    def _need(self, runs: tuple[StageChoice, ...], nodes: range) -> int:
        """Bytes of the stages of some nodes, roughly: rows they read, and the largest tiles."""
        inside = [run for run in runs if run.is_within(nodes)]
        stages = self._single_stages[nodes.start : nodes.stop]
        alone = [stage for stage in stages if not any(map(stage.overlaps, inside))]
        return sum(stage.read for stage in (*alone, *inside)) + max(
            (run.tiles for run in inside), default=0
        )

    @cached_property
    def _by_nodes(self) -> dict[tuple[int, int], list[StageChoice]]:
        """The runs of the same nodes that no other one betters, the fewest instructions first."""
        every: dict[tuple[int, int], list[StageChoice]] = defaultdict(list)
        for option in sorted(self._runs, key=lambda option: (option.cost, option.tiles)):
            same = every[option.start, option.end]
            if not any(o.tiles <= option.tiles and o.read <= option.read for o in same):
                same.append(option)
        return every

    def _possible(self, most: int, price: float) -> tuple[StageChoice, ...]:
        """The runs of the shortest path that kernels can take."""
        while True:
            chosen = self._shortest(most, price)
            bad = [option for option in chosen if not self.is_possible(option)]
            if not bad:
                return chosen
            self._impossible.update(bad)
            self._useful.clear()

    def _shortest(self, most: int, price: float) -> tuple[StageChoice, ...]:
        count = len(self._graph.nodes)
        costs = [0.0] + [inf] * count
        last: list[StageChoice | None] = [None] * (count + 1)
        if most not in self._useful:
            self._useful[most] = [*self._find_useful(most)]
        for option in self._useful[most]:
            cost = costs[option.start] + option.cost + price * option.read
            if cost < costs[option.end]:
                costs[option.end], last[option.end] = cost, option
        path: list[StageChoice] = []
        at = last[count]
        while at is not None:
            path += [at] if at.run is not None else []
            at = last[at.start]
        return tuple(path[::-1])

    def _find_useful(self, most: int) -> Iterator[StageChoice]:
        """Options that no other one of the same nodes betters, in an order in which a path goes
        through them.

        Args:
            most: bytes of tiles.
        """
        for _, same in groupby(self._options, lambda option: (option.end, option.start)):
            possible = [
                option
                for option in same
                if option.run is None or (option.tiles <= most and option not in self._impossible)
            ]
            useful: set[StageChoice] = set()
            least: float = inf
            for option in sorted(possible, key=lambda option: (option.cost, option.read)):
                if option.read < least:
                    useful.add(option)
                    least = option.read
            yield from (option for option in possible if option in useful)

    @cached_property
    def _options(self) -> list[StageChoice]:
        """In an order in which a path goes through them."""
        every = [*self._single_stages, *self._runs]
        return sorted(every, key=lambda option: (option.end, option.start))

    @cached_property
    def _single_stages(self) -> list[StageChoice]:
        """Each node as it is."""
        return list(self._singles)

    @property
    def _singles(self) -> Iterator[StageChoice]:
        for index, (node, calls) in enumerate(zip(self._graph.nodes, self._row_calls, strict=True)):
            costs = (surcharge(node, _alone(call), self._isa).at(0) for call in calls)
            read = sum(_rows_read(call) + kept_scratch(call.call) for call in calls)
            yield StageChoice(index, index + 1, None, sum(costs), 0, read)

    @cached_property
    def _runs(self) -> list[StageChoice]:
        every = [option for chain in chains(self._graph) for option in self._of_chain(chain)]
        return every + [option for tail in tails(self._graph) for option in self._of_tail(tail)]

    def _of_tail(self, tail: Tail) -> Iterator[StageChoice]:
        source, count = tail.parts[0].inputs[0], tail.parts[0].outputs[0].shape[3]
        (call,) = tail.parts[0].op.kernel_calls(*_tensors(tail.parts[0]), self._isa)[:1]
        for channels in (channels for channels in CHANNELS if count % channels == 0):
            node = tail.in_slices(channels)
            assert isinstance(node.op, SlicedRun)
            cost, tiles = slicing_cost(node.op, call, self._isa), node.op.bytes + 4 * channels
            yield StageChoice(tail.start, tail.end, (tail, node), cost, tiles, source.nbytes)

    def _of_chain(self, chain: Chain) -> Iterator[StageChoice]:
        calls = [own[0] for own in self._row_calls[chain.start : chain.end] if len(own) == 1]
        if len(calls) < len(chain.parts):
            return
        height, width = chain.output.shape[1:3]
        tensors = [chain.parts[0].inputs[0], *(part.outputs[0] for part in chain.parts)]
        for columns in sorted({min(columns, width) for columns in (*COLUMNS, width)}):
            for band in (band for band in BANDS if band <= height):
                for keeping in chain.keepings if columns < width else chain.keepings[:1]:
                    node = chain.in_tiles(band, columns, keeping)
                    assert isinstance(node.op, TiledRun)
                    tiling = node.op.tiling
                    cost = tiling_cost(node.op, [call.call for call in calls], self._isa)
                    images = TileImages.of(tensors, tiling)
                    seen = tiling.seen[0]
                    rows = seen.high - seen.low + 1 + (band - 1) * seen.factor
                    read = min(rows, tensors[0].shape[1]) * row_bytes(tensors[0])
                    read += images.kept_bytes
                    run = chain, node
                    yield StageChoice(chain.start, chain.end, run, cost, images.tile_bytes, read)


def _tensors(node: Node) -> tuple[Tensors, Tensors]:
    return node.inputs, node.outputs


def _alone(call: RowCall) -> RowCall:
    """The call with one row at a time."""
    return call if call.call.kernel in OUTSIDE else call.banded(1)


def _rows_read(call: RowCall) -> int:
    """Bytes of the rows that a row takes, of all images."""
    sizes = (
        max(1, (reach.high - reach.low) // reach.divisor + 1) * row_bytes(tensor)
        for tensor, reach in call.reads.items()
    )
    return sum(sizes)
