"""What curves refuse, and cycles of plans whose rows or tiles are narrow."""

from __future__ import annotations

import pytest
from harness.run_graphs import bottlenecks

from cmbuild.catalog import find_board
from cmbuild.errors import UsageError
from cmbuild.sizing.curves import CurveSizes, check_curve
from cmbuild.sizing.estimate import ASSUMED, need
from cmcompiler.isa import Isa
from cmcompiler.plan.curve import ram_curve
from cmcompiler.plan.options import PlanOptions


@pytest.mark.parametrize(
    ("models", "boards", "budget", "on_workers", "message"),
    [
        ((), ("rp2350",), None, False, "needs a MODEL and a --board"),
        (("mv2",), (), None, False, "needs a MODEL and a --board"),
        (("mv2",), ("rp2350",), "64K", False, "chooses the budgets itself"),
        (("mv2",), ("rp2350",), None, True, "does not plan on workers"),
    ],
)
def test_contradictions_are_refused(
    models: tuple[str, ...],
    boards: tuple[str, ...],
    budget: str | None,
    on_workers: bool,
    message: str,
) -> None:
    with pytest.raises(UsageError, match=message):
        check_curve(models, boards, budget, on_workers)


@pytest.mark.parametrize(
    ("name", "isa", "known"),
    [
        ("mps2-an505", Isa.DSP, True),
        ("corstone300", Isa.MVE, True),
        ("microbit", Isa.SCALAR, False),
    ],
)
def test_less_memory_takes_more_cycles(name: str, isa: Isa, known: bool) -> None:
    """On cores that runs in tiles were measured on; elsewhere such points have no cycles."""
    board = find_board(name)
    sizes = CurveSizes.of(ram_curve(bottlenecks(), isa, PlanOptions()))
    curve = sizes.on(board, lambda program: need(board, program, ASSUMED))
    first, last = curve.points[0], curve.points[-1]
    assert curve.slower(first) == 0 and last.arena < first.arena
    assert (last.cycles is not None) is known
    if known:
        slower = curve.slower(last)
        assert slower is not None and slower > 0.05
