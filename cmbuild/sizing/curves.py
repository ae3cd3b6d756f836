"""RAM against cycles: what a model's plans within smaller and smaller budgets need of a board."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cmbuild.boards.board import Board
from cmbuild.errors import UsageError
from cmbuild.pipeline.copies import Copying
from cmbuild.sizing.estimate import Need, ProgramSize
from cmbuild.sizing.results import CurvePointResult, RamCurveResult

if TYPE_CHECKING:
    from cmcompiler.plan.curve import RamCurve


def check_curve(
    models: Sequence[str], boards: Sequence[str], budget: str | None, on_workers: bool
) -> None:
    """Whether a curve can be made of what somebody named.

    Raises:
        UsageError: there is no model or board, or other options contradict.
    """
    if not models or not boards:
        raise UsageError(
            message="--ram-curve needs a MODEL and a --board",
            hint="cmbuild fit mv2 --board rp2350 --ram-curve",
        )
    if budget is not None:
        raise UsageError(
            message="--ram-curve chooses the budgets itself",
            hint="leave out --ram-budget",
        )
    if on_workers:
        raise UsageError(
            message="--ram-curve does not plan on workers",
            hint="leave out --workers and --scheduler",
        )


@dataclass(frozen=True, slots=True)
class BudgetSize:
    """Sizes of the plan within a budget of so many bytes of arena."""

    budget: int
    program: ProgramSize


@dataclass(frozen=True, slots=True)
class CurveSizes:
    """Sizes of the plans of a curve.

    Attributes:
        usual: bytes of arena without a budget.
    """

    usual: int
    points: tuple[BudgetSize, ...]

    @classmethod
    def of(cls, curve: RamCurve) -> CurveSizes:
        points = (BudgetSize(each.budget, ProgramSize.of(each.plan)) for each in curve.points)
        return cls(curve.usual, tuple(points))

    def on(self, board: Board, needed: Callable[[ProgramSize], Need]) -> RamCurveResult:
        """
        Args:
            needed: returns what a program needs of the board.
        """
        points = []
        for each in self.points:
            program, need = each.program, needed(each.program)
            cycles = program.cycles_on(board, Copying())
            points.append(
                CurvePointResult(
                    ram_budget=each.budget,
                    arena=program.arena,
                    ram=need.ram,
                    flash=need.flash,
                    fits=not need.over,
                    cycles=cycles,
                )
            )
        return RamCurveResult(self.usual, tuple(points))
