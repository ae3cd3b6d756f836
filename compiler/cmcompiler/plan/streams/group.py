"""A group of nodes that run in turns, as stages that each make rows of one tensor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import DRAIN, Reach, RowAddress, RowCall, RowCount
from cmcompiler.ir.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Demand:
    """Rows of a stage that another one takes before it makes its rows up to `end`.

    They are those before (end·factor + offset) / divisor, rounded down; at most all of them.
    """

    stage: int
    factor: int
    offset: int
    divisor: int


@dataclass(frozen=True, slots=True)
class StreamStage:
    """A kernel call that makes rows of a node's output.

    Attributes:
        node: index in the graph.
        ordered: the call with all rows in the order in which its group makes them.
        output: the tensor that it writes.
        demands: of earlier stages.
    """

    node: int
    call: RowCall
    ordered: RowCall
    output: Tensor
    demands: tuple[Demand, ...]

    @property
    def steps(self) -> int:
        """Steps of the plan that it takes: its own, and the calls of a run."""
        return 1 + len(self.call.tiled)

    @property
    def moves(self) -> bool:
        """Some of its arguments are the places of rows."""
        return any(isinstance(word, RowAddress) for _, word in self.call.call.arguments)

    @property
    def counted(self) -> int | None:
        """Which of its arguments is the number of rows that it computes, if they are one call."""
        words = enumerate(self.call.call.arguments)
        return next((i for i, (_, word) in words if isinstance(word, RowCount)), None)

    def calls(self, start: int, end: int, ring_rows: Callable[[Tensor], int]) -> int:
        """Kernel calls that compute rows: see run_rows in runtime/runner/step.c.

        Args:
            ring_rows: how many rows of a tensor are in memory.
        """
        if not self.moves:
            return 1
        if self.counted is None:
            return end - start
        moves = [word for _, word in self.call.call.arguments if isinstance(word, RowAddress)]
        ends = {
            row
            for move in moves
            for row in range(start + 1, end)
            if (row + move.shift) % ring_rows(move.tensor) == 0
        }
        return len(ends) + 1

    @property
    def start(self) -> int:
        return self.call.call.rows[0]

    @property
    def end(self) -> int:
        return self.call.call.rows[1]


@dataclass(frozen=True)
class Group:
    """Consecutive nodes of a graph. The last stage asks the others for the rows it takes.

    Attributes:
        nodes: their indices.
        rings: tensors that exist only as rings, as nothing outside reads them.
        upward: it begins with the last rows.
    """

    nodes: range
    stages: tuple[StreamStage, ...]
    rings: frozenset[Tensor]
    upward: bool = False

    @cached_property
    def step_of(self) -> tuple[int, ...]:
        """The first step of each stage, counted from that of the first stage."""
        return tuple(accumulate((stage.steps for stage in self.stages[:-1]), initial=0))

    @property
    def step_count(self) -> int:
        return sum(stage.steps for stage in self.stages)

    @cached_property
    def writers(self) -> dict[Tensor, list[int]]:
        """The stages that write each tensor."""
        stages: dict[Tensor, list[int]] = defaultdict(list)
        for index, stage in enumerate(self.stages):
            stages[stage.output].append(index)
        return dict(stages)

    @cached_property
    def readers(self) -> dict[Tensor, list[int]]:
        """The stages that read each tensor row by row, but for its own writers."""
        readers: dict[Tensor, list[int]] = defaultdict(list)
        for index, stage in enumerate(self.stages):
            for tensor in stage.call.reads:
                if tensor is not stage.output:
                    readers[tensor].append(index)
        return dict(readers)

    @property
    def whole(self) -> tuple[Tensor, ...]:
        """The tensors that it leaves behind."""
        return tuple(tensor for tensor in self.writers if tensor not in self.rings)


def make_group(
    nodes: Sequence[Node],
    indices: range,
    calls: Mapping[int, Sequence[RowCall]],
    rings: set[Tensor],
    upward: bool = False,
) -> Group | None:
    """The group of some nodes; None if the rows of one cannot be made as another one asks.

    Args:
        calls: of each of these nodes.
        rings: the tensors that only these nodes read.
        upward: begin with the last rows.
    """
    stages: list[StreamStage] = []
    writers: dict[Tensor, list[int]] = defaultdict(list)
    wanted: set[Tensor] = set()
    for index in indices:
        node, (output,) = nodes[index], nodes[index].outputs
        by_rows = {tensor for call in calls[index] for tensor in call.reads}
        if any(tensor in writers and tensor not in by_rows for tensor in node.inputs):
            return None
        if any(stages[writer].call.accumulates for t in by_rows for writer in writers.get(t, ())):
            return None
        for call in calls[index]:
            # Accumulation begins with the first row.
            if upward and call.accumulates:
                return None
            ordered = _from_below(call, output) if upward else call
            demands = tuple(
                _demand(ordered, tensor, writer, stages[writer].ordered)
                for tensor in call.reads
                for writer in writers[tensor]
            )
            wanted.update(call.reads)
            stages.append(StreamStage(index, call, ordered, output, demands))
            writers[output].append(len(stages) - 1)
    last = nodes[indices[-1]].outputs[0]
    if any(
        stage.output not in wanted and stage.output is not last and stage.call.call.kernel != DRAIN
        for stage in stages
    ):
        return None
    return Group(indices, tuple(stages), frozenset(t for t in rings if t in writers), upward)


def _from_below(call: RowCall, output: Tensor) -> RowCall:
    """This call if rows are counted from the last one, both its own and those of images."""
    start, end = call.call.rows
    last = start + end - 1
    first = output.shape[1] - 1 - call.output_row(last)
    reads = {tensor: _mirrored(reach, last, tensor) for tensor, reach in call.reads.items()}
    return replace(call, reads=reads, first=first)


def _mirrored(reach: Reach, last: int, tensor: Tensor) -> Reach:
    # The quotients are rounded down from above, so up from below.
    base = tensor.shape[1] * reach.divisor - 1 - last * reach.factor
    return replace(reach, low=base - reach.high, high=base - reach.low)


def _demand(call: RowCall, tensor: Tensor, writer: int, maker: RowCall) -> Demand:
    """A reader's demand on the writer of a tensor: see RowCall for both maps of rows."""
    reach, step = call.reads[tensor], maker.step
    offset = reach.high - reach.factor + reach.divisor
    offset += reach.divisor * (step - 1 - maker.first)
    return Demand(writer, reach.factor, offset, reach.divisor * step)
