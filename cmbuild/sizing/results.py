"""Results of `fit`: the bytes that models need of boards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cmbuild.accuracy import Share
from cmbuild.display.mixture import MixResult
from cmbuild.display.tables import HtmlTable
from cmbuild.firmware.remedies import Attempt


@dataclass(frozen=True, slots=True)
class NeedResult:
    """Bytes that a program needs of a board.

    Attributes:
        weights, arena: exact.
        basis: of `code` and `static`: the `library`, a `related` one, a `table`, or `assumed`.
        stack: reserved for it, as `memory.ram.reserved` of a run.
        over: by region, how many bytes there are too few; empty if all fits.
    """

    weights: int
    code: int
    arena: int
    static: int
    stack: int
    basis: str
    over: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PredictedFlash:
    """Cycles with what the core waits for its flash, predicted for what a run copies to RAM.

    Attributes:
        clock_hz, wait_states, milliseconds: as `cycles.with_flash` of a run.
        error_percent: that of the core's cycles, and the largest difference from the simulator that
            waiting adds on recorded runs.
    """

    total: int
    clock_hz: int
    wait_states: int
    milliseconds: float
    error_percent: int


@dataclass(frozen=True, slots=True)
class PredictedCycles:
    """Cycles of one inference, predicted from the plan without a run.

    Attributes:
        milliseconds: None where the board's clock is not known.
        error_percent: largest difference from the simulator on the models of the zoo.
        with_flash: None where the board does not describe its flash, or no run has shown what its
            kernels read of it.
    """

    total: int
    milliseconds: float | None
    error_percent: int
    with_flash: PredictedFlash | None = None


@dataclass(frozen=True, slots=True)
class ExportedAccuracy:
    """The share of an export's labelled samples that got their label when it was exported.

    Attributes:
        float: of the float model.
        quantized: of the quantised graph, as torch computes it; not yet of a program.
        samples: number with a label.
    """

    float: Share
    quantized: Share
    samples: int


@dataclass(frozen=True, slots=True)
class WideResult:
    """Cost and gain of int16 weights.

    Attributes:
        flash: bytes more than with int8.
        cycles: of one inference, predicted, fewer than with int8; None where not known.
    """

    flash: int
    cycles: int | None


@dataclass(frozen=True, slots=True)
class CurvePointResult:
    """The memory that a model needs on a board if its arena has to fit a budget.

    Attributes:
        ram_budget: bytes of arena, for `--ram-budget`.
        arena: exact, at most as much.
        ram, flash: as `need` has them.
        fits: the board has as much memory.
        cycles: None where costs of a kernel on the core are not known.
    """

    ram_budget: int
    arena: int
    ram: int
    flash: int
    fits: bool
    cycles: PredictedCycles | None


@dataclass(frozen=True, slots=True)
class RamCurveResult(HtmlTable):
    """RAM against cycles of a model on a board.

    Attributes:
        usual: bytes of arena without a budget.
        points: from the fastest plan to the smallest one.
    """

    COLUMNS = ("ram_budget", "arena", "ram", "flash", "fits", "cycles.total")

    usual: int
    points: tuple[CurvePointResult, ...]

    def rows(self) -> Iterable[CurvePointResult]:
        return self.points

    def slower(self, point: CurvePointResult) -> float | None:
        """The share of cycles that a point takes more than the fastest one; None if not known."""
        known = [each.cycles.total for each in self.points if each.cycles is not None]
        return None if point.cycles is None else point.cycles.total / min(known) - 1


@dataclass(frozen=True, slots=True)
class FitResult(HtmlTable):
    """A model on a board.

    Attributes:
        flash, ram: bytes that the board has.
        fits, need: None if the model is not exported.
        cycles: None where costs of a kernel on the core are not known.
        tried: remedies, for one that does not fit, where the board is named.
        accuracy: None without labelled samples.
        wide: for weights of int16.
        curve: None unless requested.
        mix: how the precision of modules was chosen; None if it was not, by need.
    """

    COLUMNS = ("model", "board", "fits", "need.weights", "need.code", "flash", "need.arena", "ram")

    model: str
    board: str
    flash: int | None
    ram: int | None
    fits: bool | None
    need: NeedResult | None
    cycles: PredictedCycles | None = None
    tried: tuple[Attempt, ...] = ()
    accuracy: ExportedAccuracy | None = None
    wide: WideResult | None = None
    curve: RamCurveResult | None = None
    mix: MixResult | None = None
