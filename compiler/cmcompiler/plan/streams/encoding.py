"""The words of struct cm_row_stream in cmrt/program.h."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cmcompiler.ir.op import RowAddress, TiledCall
from cmcompiler.ir.rows import image_rows, row_bytes
from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.abi import CONTROL_STREAM, MOST_MOVED_WORDS
from cmcompiler.plan.plan import Argument, Ref
from cmcompiler.plan.streams.group import Group, StreamStage
from cmcompiler.plan.streams.laps import Lap, laps
from cmcompiler.plan.streams.turns import turns

PROGRESS_BYTES = 12
"""sizeof struct cm_progress."""

_HEADER_WORDS = 5
_STAGE_WORDS = 2

BYTE, SHORT = 1 << 8, 1 << 16
RATIO = 1 << 5
"""Ratio of the rows that an argument moves along."""


def is_encodable(group: Group) -> bool:
    """Whether all numbers fit their fields; they do but for images of many thousand rows."""
    return group.step_count < BYTE and all(map(_fits, group.stages))


def _fits(stage: StreamStage) -> bool:
    moves = _moves(stage)
    tensors = (stage.output, *stage.call.reads)
    words = len(stage.call.call.arguments)
    return (
        max(stage.call.band, len(moves)) < BYTE
        and all(map(_fits_tiles, stage.call.tiled))
        and (not moves or words <= MOST_MOVED_WORDS)
        and all((image_rows(tensor) or 1) < SHORT // 2 for tensor in tensors)
        and all(
            max(move.factor, move.divisor) < RATIO
            and abs(move.shift) < SHORT // 2
            and row_bytes(move.tensor) < SHORT
            for _, move in moves
        )
    )


def _fits_tiles(call: TiledCall) -> bool:
    reach = call.rows
    return (
        len(call.call.arguments) <= MOST_MOVED_WORDS
        and max(map(abs, (reach.factor, reach.low, reach.high))) < SHORT // 2
    )


def encode(group: Group, progress: Ref, ring_rows: Callable[[Tensor], int]) -> tuple[Argument, ...]:
    """
    Args:
        progress: where the stages' progress is kept.
        ring_rows: how many rows of a tensor are in memory.
    """
    lists: list[Argument] = []
    head: list[Argument] = []
    start = _HEADER_WORDS + _STAGE_WORDS * group.step_count
    for index, stage in enumerate(group.stages):
        moves = _moves(stage)
        words = len(stage.call.call.arguments) if moves else 0
        counts = stage.call.band | len(moves) << 8 | words << 16 | (stage.counted or 0) << 24
        head += [
            Argument(f"stage {index}: band, moves, words, counted", counts),
            Argument("list", start + len(lists)),
        ]
        for word, address in moves:
            lists += _move(index, word, address, ring_rows(address.tensor))
        for at in range(len(stage.call.tiled)):
            head += [Argument(f"stage {index}, call {at}", 0), Argument("none", 0)]
    stages = [group.step_of[turn.stage] for turn in turns(group)]
    order = [word for lap in laps(stages) for word in _lap(lap)]
    order_start = start + len(lists)
    return (
        Argument("control", CONTROL_STREAM),
        Argument("count, upward", group.step_count | group.upward << 16),
        Argument("progress", progress),
        Argument("order", order_start),
        Argument("order_end", order_start + len(order)),
        *head,
        *lists,
        *order,
    )


def _moves(stage: StreamStage) -> list[tuple[int, RowAddress]]:
    return [
        (index, word)
        for index, (_, word) in enumerate(stage.call.call.arguments)
        if isinstance(word, RowAddress)
    ]


def _lap(lap: Lap) -> Iterator[Argument]:
    yield Argument("turns, rounds", len(lap.turns) | lap.rounds << 16)
    stages = bytes(lap.turns)
    for at in range(0, len(stages), 4):
        yield Argument("stages", int.from_bytes(stages[at : at + 4], "little"))


def _move(index: int, word: int, address: RowAddress, ring: int) -> Iterator[Argument]:
    place = word | address.factor << 6 | address.divisor << 11
    yield Argument(f"{index} moves word, by shift", place | (address.shift & 0xFFFF) << 16)
    yield Argument("ring, stride", ring | row_bytes(address.tensor) << 16)
