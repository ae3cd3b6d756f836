#!/usr/bin/env python3
"""RAM against cycles, with each point built and run.

    python benchmarks/ram_curve.py [--boards mps2-an505,corstone300] [--feed again] MODEL ...

Makes the curve of `cmbuild fit --ram-curve` for each model and board, then builds each point with
its `--ram-budget`, runs it on the simulator and verifies its outputs. Prints a row a point: bytes,
instructions more than the first point's, cycles, and how far their prediction is off. Fails if an
arena has other bytes than promised, or cycles are more than 8 % from what was promised.
`--points N` builds N of each curve, its ends among them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, TypeVar, get_args

from cmbuild import fit, run

TOLERANCE = 0.08
"""Part of the cycles that a prediction may be off."""

Feed = Literal["rows", "again"]
T = TypeVar("T")

BOARDS = "mps2-an505,corstone300"


@dataclass(frozen=True)
class Point:
    """A plan within a budget, as promised and as run.

    Attributes:
        arena, promised: bytes.
        predicted: cycles; None if a kernel's costs are not known.
    """

    budget: int
    arena: int
    promised: int
    instructions: int
    cycles: int
    predicted: float | None

    @property
    def error(self) -> float | None:
        """Part of the cycles by which the prediction is off."""
        return None if self.predicted is None else self.predicted / self.cycles - 1

    @property
    def holds(self) -> bool:
        return self.arena == self.promised and abs(self.error or 0) <= TOLERANCE

    def row(self, first: Point) -> str:
        more = self.instructions / first.instructions - 1
        error = "" if self.error is None else f"{self.error:+.1%}"
        mark = "" if self.holds else "  !"
        return (
            f"  {self.budget:>9,} {self.arena:>9,} {self.instructions:>12,} {more:>+7.1%}"
            f" {self.cycles:>12,} {error:>7}{mark}"
        )


def points(model: str, board: str, folder: Path, feed: Feed, most: int | None) -> Iterator[Point]:
    """Points of a curve, from the fastest to the smallest, each of them verified.

    Args:
        most: number of points; None for all.
    """
    (sized,) = fit(model, board, ram_curve=True, export=True, io="int8", feed=feed)
    assert sized.curve is not None
    for each in _spread(sized.curve.points, most):
        result = run(
            model,
            board,
            io="int8",
            feed=feed,
            ram_budget=str(each.ram_budget),
            build_dir=folder / str(each.ram_budget),
        )
        assert result.cycles is not None and result.instructions.total is not None
        yield Point(
            budget=each.ram_budget,
            arena=result.memory.ram.arena,
            promised=each.arena,
            instructions=result.instructions.total,
            cycles=result.cycles.total,
            predicted=None if each.cycles is None else each.cycles.total,
        )


def _spread(every: Sequence[T], most: int | None) -> list[T]:
    """At most so many, at least two, spread evenly from the first to the last."""
    if most is None or len(every) <= most:
        return list(every)
    return [every[i * (len(every) - 1) // (most - 1)] for i in range(most)]


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("models", nargs="+", metavar="MODEL")
    arguments.add_argument("--boards", default=BOARDS)
    arguments.add_argument("--feed", choices=get_args(Feed), default="rows")
    arguments.add_argument("--points", type=int, help="at most so many of each curve, two or more")
    arguments.add_argument("--build-dir", type=Path, default=Path("build/ram_curve"))
    chosen = arguments.parse_args()
    fails = 0
    for model, board in product(chosen.models, chosen.boards.split(",")):
        print(
            f"{model} on {board}\n     budget     arena instructions    more       cycles   error"
        )
        made: list[Point] = []
        for point in points(model, board, chosen.build_dir, chosen.feed, chosen.points):
            made.append(point)
            fails += not point.holds
            print(point.row(made[0]), flush=True)
    sys.exit(f"{fails} points are not as promised" if fails else 0)


if __name__ == "__main__":
    main()
