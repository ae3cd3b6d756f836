"""The runs that operators of a graph can be, for less memory than rows need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import inf

from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.op import OUTSIDE, RowCall, Tensors
from cmcompiler.ir.rows import row_bytes
from cmcompiler.isa import Isa
from cmcompiler.plan.runs.calls import TileImages
from cmcompiler.plan.runs.chains import Chain, Tail, chains, contracted, is_possible, tails
from cmcompiler.plan.runs.run import TiledRun
from cmcompiler.plan.runs.slices import SlicedRun
from cmcompiler.plan.scratch import kept_scratch, passing_scratch
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


@dataclass(frozen=True, eq=False)
class StageChoice:
    """Nodes [start, end) of a graph as one stage.

    Attributes:
        run: None for a node as it is.
        cost: instructions, roughly, more than as a whole.
        tiles: bytes of scratch.
        read: bytes of the rows that it reads or keeps, roughly.
        kept: bytes of these that it keeps.
        made: bytes of the rows that it makes at once, but for one.
    """

    start: int
    end: int
    run: tuple[Chain | Tail, Node] | None
    cost: float
    tiles: int
    read: int
    kept: int = 0
    made: int = 0

    def overlaps(self, other: StageChoice) -> bool:
        """Whether some nodes belong to both."""
        return self.start < other.end and other.start < self.end

    def is_alike(self, other: StageChoice) -> bool:
        """Whether both have the same nodes."""
        return (self.start, self.end) == (other.start, other.end)

    def is_within(self, nodes: range) -> bool:
        return nodes.start <= self.start and self.end <= nodes.stop


class RunSelection:
    """The runs that operators can be, and what they and other stages take.

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
        self._known: dict[tuple[StageChoice, ...], Graph] = {}

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
        """Sets with other tiles of a run, or without it, and with another run right beside it or in
        its place, that take fewer instructions together, the fewest first.

        Args:
            spare: bytes that they may need more, roughly.
        """
        nodes = range(max(run.start - NEAR, 0), min(run.end + NEAR, len(self._graph.nodes)))
        near = [o for same in self._by_nodes.values() for o in same if o.is_within(nodes)]
        same = [run, *(o for o in self._by_nodes[run.start, run.end] if o.cost < run.cost)]
        allowed, before = self._need(chosen, nodes) + spare, self._cost(chosen, nodes)
        pairs: list[tuple[float, tuple[StageChoice, ...]]] = []
        for extra in near:
            rest = tuple(o for o in chosen if o is not run and not extra.overlaps(o))
            others = [] if extra.overlaps(run) else same[extra in chosen :]
            for changed in ((*rest, extra), *((*rest, extra, other) for other in others)):
                saved = before - self._cost(changed, nodes)
                if saved > 0 and self._need(changed, nodes) <= allowed:
                    pairs.append((saved, changed))
        for _, changed in sorted(pairs, key=lambda pair: -pair[0]):
            yield changed

    def _cost(self, runs: tuple[StageChoice, ...], nodes: range) -> float:
        """Instructions of all runs, and of some nodes that are in none."""
        stages = self._single_stages[nodes.start : nodes.stop]
        alone = (stage for stage in stages if not any(map(stage.overlaps, runs)))
        return sum(stage.cost for stage in (*runs, *alone))

    def _need(self, runs: tuple[StageChoice, ...], nodes: range) -> int:
        """Bytes of the stages of some nodes, roughly: rows they read, and the largest tiles."""
        inside = [run for run in runs if run.is_within(nodes)]
        stages = self._single_stages[nodes.start : nodes.stop]
        alone = [stage for stage in stages if not any(map(stage.overlaps, inside))]
        # A ring that gets more rows at once holds them beside those that are still read.
        made = sum(run.made for run in inside if run.end < nodes.stop)
        most = max((run.tiles for run in inside), default=0)
        return sum(stage.read for stage in (*alone, *inside)) + made + most

    @cached_property
    def _by_nodes(self) -> dict[tuple[int, int], list[StageChoice]]:
        """The runs of the same nodes that no other one betters, the fewest instructions first."""
        every: dict[tuple[int, int], list[StageChoice]] = defaultdict(list)
        for option in sorted(self._runs, key=lambda option: (option.cost, option.tiles)):
            same = every[option.start, option.end]
            if not any(o.tiles <= option.tiles and o.read <= option.read for o in same):
                same.append(option)
        return every

    @cached_property
    def stages(self) -> list[StageChoice]:
        """Each node that can compute rows, with one at a time and with more, and all runs."""
        alone = zip(self._graph.nodes, self._row_calls, strict=True)
        nodes = [(index, node, calls) for index, (node, calls) in enumerate(alone) if calls]
        singles = [self._single(*each, band) for band in BANDS for each in nodes]
        return [*singles, *self._runs]

    @property
    def has_runs(self) -> bool:
        return bool(self._runs)

    def ends_group(self, end: int) -> bool:
        """Whether what the node before one leaves is there when its group ends."""
        return end > 0 and any(call.accumulates for call in self._row_calls[end - 1])

    @cached_property
    def _single_stages(self) -> list[StageChoice]:
        """Each node as it is, with one row at a time."""
        nodes = zip(self._graph.nodes, self._row_calls, strict=True)
        return [self._single(index, node, calls, 1) for index, (node, calls) in enumerate(nodes)]

    def _single(self, index: int, node: Node, calls: Sequence[RowCall], band: int) -> StageChoice:
        banded = [_banded(call, band) for call in calls]
        cost = sum(surcharge(node, call, self._isa).at(0) for call in banded)
        tiles = max((passing_scratch(call) for call in calls if call.tiled), default=0)
        kept = sum(kept_scratch(call.call) for call in calls)
        read = sum(map(_rows_read, banded)) + kept
        return StageChoice(index, index + 1, None, cost, tiles, read, kept)

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
                    tiles, kept = images.tile_bytes, images.kept_bytes
                    made = (band - 1) * row_bytes(chain.output)
                    yield StageChoice(chain.start, chain.end, run, cost, tiles, read, kept, made)


def _tensors(node: Node) -> tuple[Tensors, Tensors]:
    return node.inputs, node.outputs


def _banded(call: RowCall, band: int) -> RowCall:
    """The call with so many rows at a time; rows from outside come one by one, and runs have bands
    of their own.
    """
    return call if call.tiled or call.call.kernel in OUTSIDE else call.banded(band)


def _rows_read(call: RowCall) -> int:
    """Bytes of the rows that a band takes, of all images."""
    sizes = (
        max(1, (reach.high - reach.low + (call.band - 1) * reach.factor) // reach.divisor + 1)
        * row_bytes(tensor)
        for tensor, reach in call.reads.items()
    )
    return sum(sizes)
