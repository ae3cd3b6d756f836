"""Explains the cycles of one operator of a run."""

from __future__ import annotations

from dataclasses import dataclass

from cmbuild.cycles.core import Core
from cmbuild.cycles.counter import PROFILE, places_of, readings_before
from cmbuild.cycles.disassembly import parse
from cmbuild.cycles.estimate import Estimator
from cmbuild.cycles.explanation import HotBlock, hot_blocks
from cmbuild.cycles.intervals import DISASSEMBLY
from cmbuild.cycles.profile import read_profile
from cmbuild.cycles.registry import timing_model
from cmbuild.errors import Failed, UsageError
from cmbuild.image.elf import Symbols
from cmbuild.pipeline.layers import PlacedLayer
from cmbuild.pipeline.stages.simulate import SimulateStage


class Unexplained(Failed):
    template = "cycles of {model} on {board} not counted: {reason}"
    hint = "docs/cycles.md says what counting needs"


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A hot block and where it is.

    Attributes:
        place: function and line: `cm_isa_gemm_s8 (gemm_s8.S:88)`.
        share: of the operator's cycles.
    """

    place: str | None
    share: float
    block: HotBlock


@dataclass(frozen=True, slots=True)
class ExplainResult:
    """The cycles of one operator.

    Attributes:
        op: its number, from 1.
        ops: how many the plan has.
        share: of the whole inference.
    """

    model: str
    board: str
    provenance: str
    op: int
    ops: int
    layer: PlacedLayer
    cycles: int
    share: float
    blocks: tuple[PlacedBlock, ...]


def explain(run: SimulateStage, op: int | None, most: int) -> ExplainResult:
    """
    Args:
        run: that is done.
        op: from 1; the most expensive one if None.
        most: blocks to show.

    Raises:
        Unexplained: the run counted no cycles.
        UsageError: there is no such op.
    """
    result = run.result
    assert result is not None
    core = timing_model(run.runner.board.cpu)
    if result.cycles is None or core is None or not result.cycles.per_op:
        reason = result.uncounted or "branches left out some steps"
        raise Unexplained(model=result.model, board=result.board, reason=reason)
    costs = [each.cycles for each in result.cycles.per_op]
    if op is not None and not 1 <= op <= len(costs):
        raise UsageError(message=f"--op {op}: {result.model} has ops 1 to {len(costs)}")
    index = costs.index(max(costs)) if op is None else op - 1
    return ExplainResult(
        model=result.model,
        board=result.board,
        provenance=result.cycles.provenance,
        op=index + 1,
        ops=len(costs),
        layer=result.layers[index],
        cycles=costs[index],
        share=costs[index] / max(1, result.cycles.total),
        blocks=_blocks(run, core, index, most),
    )


def _blocks(run: SimulateStage, core: type[Core], index: int, most: int) -> tuple[PlacedBlock, ...]:
    code = parse((run.cycles_entry.folder / DISASSEMBLY).read_text(errors="replace"))
    steps = run.runner.plan.record.steps
    profile = read_profile(run.entry.folder / PROFILE)
    estimator = Estimator(core, code, profile, readings_before(steps))
    measured = estimator.measured
    places = places_of(len(measured), steps)[index]
    segments = [measured[at] for at in places if at < len(measured)]
    whole = sum(map(estimator.cycles, segments))
    symbols = Symbols.read(run.runner.placed(run.launcher).file)
    return tuple(
        PlacedBlock(symbols.nearest(block.address), block.cycles / max(1, whole), block)
        for block in hot_blocks(estimator, segments, most)
    )
