"""The words of struct cm_row_stream in cmrt/program.h."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cmcompiler.ir.op import RowAddress
from cmcompiler.ir.rows import row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.abi import CONTROL_STREAM, MOST_MOVED_WORDS
from cmcompiler.plan.plan import Argument, Ref
from cmcompiler.plan.streams.group import Demand, Group, StreamStage

PROGRESS_BYTES = 12
"""sizeof struct cm_progress."""

_HEADER_WORDS = 3
_STAGE_WORDS = 2

BYTE, SHORT = 1 << 8, 1 << 16
RATIO = 1 << 5
"""Of the rows that an argument moves along."""


def is_encodable(group: Group) -> bool:
    """Whether all numbers fit their fields; they do but for images of many thousand rows."""
    return len(group.stages) < BYTE and all(map(_fits, group.stages))


def _fits(stage: StreamStage) -> bool:
    moves = _moves(stage)
    tensors = (stage.output, *stage.call.reads)
    words = len(stage.call.call.arguments)
    return (
        max(stage.call.band, len(stage.demands), len(moves)) < BYTE
        and (not moves or words <= MOST_MOVED_WORDS)
        and all(tensor.shape[1] < SHORT // 2 for tensor in tensors)
        and all(
            max(demand.factor, demand.divisor) < SHORT and abs(demand.offset) < SHORT // 2
            for demand in stage.demands
        )
        and all(
            max(move.factor, move.divisor) < RATIO
            and abs(move.shift) < SHORT // 2
            and row_bytes(move.tensor) < SHORT
            for _, move in moves
        )
    )


def encode(group: Group, progress: Ref, ring_rows: Callable[[Tensor], int]) -> tuple[Argument, ...]:
    """
    Args:
        progress: where the stages' progress is kept.
        ring_rows: how many rows of a tensor are in memory.
    """
    complete = {index for tensor in group.whole for index in group.writers[tensor]}
    head: list[Argument] = []
    lists: list[Argument] = []
    start = _HEADER_WORDS + _STAGE_WORDS * len(group.stages)
    for index, stage in enumerate(group.stages):
        moves = _moves(stage)
        words = len(stage.call.call.arguments) if moves else 0
        counted = stage.counted or 0
        counts = stage.call.band | len(stage.demands) << 8 | len(moves) << 16 | words << 24
        place = start + len(lists)
        head += [
            Argument(f"stage {index}: band, demands, moves, words", counts),
            Argument("list, complete, counted", place | (index in complete) << 16 | counted << 24),
        ]
        for demand in stage.demands:
            lists += _demand(index, demand)
        for word, address in moves:
            lists += _move(index, word, address, ring_rows(address.tensor))
    return (
        Argument("control", CONTROL_STREAM),
        Argument("count, upward", len(group.stages) | group.upward << 16),
        Argument("progress", progress),
        *head,
        *lists,
    )


def _moves(stage: StreamStage) -> list[tuple[int, RowAddress]]:
    return [
        (index, word)
        for index, (_, word) in enumerate(stage.call.call.arguments)
        if isinstance(word, RowAddress)
    ]


def _demand(index: int, demand: Demand) -> Iterator[Argument]:
    yield Argument(f"{index} takes of stage, factor", demand.stage | demand.factor << 16)
    yield Argument("divisor, offset", demand.divisor | (demand.offset & 0xFFFF) << 16)


def _move(index: int, word: int, address: RowAddress, ring: int) -> Iterator[Argument]:
    place = word | address.factor << 6 | address.divisor << 11
    yield Argument(f"{index} moves word, by shift", place | (address.shift & 0xFFFF) << 16)
    yield Argument("ring, stride", ring | row_bytes(address.tensor) << 16)
