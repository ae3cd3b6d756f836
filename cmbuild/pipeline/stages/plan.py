"""plan: .pte → kernel calls, packed constants and arena, as C source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild import text
from cmbuild.boards.board import Board
from cmbuild.cache.fingerprint import Value
from cmbuild.cache.store import Entry
from cmbuild.firmware.capacity import ARENA, DoesNotFit, Excess, excesses
from cmbuild.pipeline.layers import step_name
from cmbuild.pipeline.stages.program import ProgramSource
from cmbuild.pipeline.stages.stage import Stage, StageKind
from cmbuild.results import ArenaPeak, ArenaResult, ArenaStep, PortResult, TensorUse
from cmcompiler.isa import Isa
from cmcompiler.plan.options import SMALLEST, PlanOptions
from cmcompiler.plan.record import PlanRecord, PortRecord

if TYPE_CHECKING:
    from cmcompiler.plan.plan import Plan


class PlanStage(Stage):
    """The plan of a program for an instruction set, in the build folder of model and board."""

    kind = StageKind.PLAN
    verb = "planned"
    travels = True

    def __init__(
        self,
        source: ProgramSource,
        board: Board | None,
        isa: Isa,
        folder: Path,
        options: PlanOptions = SMALLEST,
        *,
        prefix: str | None = None,
    ) -> None:
        """
        Args:
            board: the one that it must fit, if known.
            prefix: of all symbols, if not made from the model's name.
        """
        self.name = f"{source.name}-{folder.name}"
        self.subject = f"{source.name} for {isa.label}"
        self.after = source.after
        self.source = source
        self.board = board
        self.isa = isa
        self.options = options
        self.prefix = prefix
        self._folder = folder

    def parts(self) -> Mapping[str, Value]:
        return self.source.parts("plan", "emit") | {
            "name": self.source.name,
            "isa": self.isa,
            "options": asdict(self.options),
            "prefix": self.prefix,
            "kernels": self.source.ops.kernels,
        }

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "plan")

    @cached_property
    def record(self) -> PlanRecord:
        from cmcompiler.emit.files import read_record

        return read_record(self.entry.folder)

    def inspect(self, folder: Path) -> None:
        from cmcompiler.emit.files import check_emitted

        check_emitted(folder, self.source.read())

    @property
    def inputs(self) -> tuple[PortResult, ...]:
        return tuple(map(_port, self.record.inputs))

    @property
    def outputs(self) -> tuple[PortResult, ...]:
        return tuple(map(_port, self.record.outputs))

    @property
    def arena(self) -> ArenaResult | None:
        """The arena's contents over time."""
        record, peak = self.record, self.record.peak
        if peak is None or not record.timeline:
            return None
        step = record.steps[peak.step]
        tensors = sorted(zip(peak.tensors, peak.makers, strict=True), key=lambda each: -each[0][1])
        return ArenaResult(
            least=record.least_bytes,
            lower_bound=peak.bytes,
            peak=ArenaPeak(
                step=peak.step,
                title=step.title,
                source=step.source,
                bytes=peak.bytes,
                tensors=tuple(
                    TensorUse(name=name, bytes=size, step=maker) for (name, size), maker in tensors
                ),
            ),
            timeline=tuple(
                ArenaStep(title=step.title, **use.model_dump())
                for step, use in zip(record.steps, record.timeline, strict=True)
            ),
        )

    def make(self, folder: Path) -> None:
        from cmbuild.toolchain.kernel_sources import check_calls, read_kernels
        from cmcompiler.emit.folder import emit
        from cmcompiler.plan.planner import make_plan

        ops, graph = self.source.ops, self.source.live_graph()
        with ops.registered():
            plan = make_plan(graph, self.isa, self.options)
        if ops.kernels is not None:
            check_calls(plan, read_kernels(ops.kernels))
        # The runner checks it again; this check comes before a library is built in vain.
        if excesses := list(self._excesses(plan)):
            raise self._does_not_fit(max(excesses, key=lambda excess: excess.over), plan)
        emit(plan, folder, self.source.read(), self.source.name, self.prefix)

    def _excesses(self, plan: Plan) -> Iterator[Excess]:
        if self.board is not None:
            constants, arena = len(plan.constants), plan.arena_bytes
            yield from excesses(self.board, constants=constants, arena=arena)

    def _does_not_fit(self, excess: Excess, plan: Plan) -> DoesNotFit:
        """Says where the arena is largest, and which remedies help; each of them is tried."""
        from cmbuild.firmware.peak import describe_peak
        from cmbuild.firmware.remedies import Choice, advice, attempts
        from cmcompiler.plan.planner import make_plan

        assert self.board is not None

        def sized(choice: Choice) -> int:
            options = replace(
                self.options, feed=choice.feed, streams=choice.streams, wide=choice.wide
            )
            source = replace(self.source, io=choice.io)
            graph = source.live_graph()
            with source.ops.registered():
                excesses = self._excesses(make_plan(graph, choice.isa, options))
            return sum(each.over for each in excesses)

        over = sum(each.over for each in self._excesses(plan))
        options = self.options
        choice = Choice(self.source.io, options.feed, options.streams, self.isa, options.wide)
        hint = advice(attempts(choice, self.board.isas, over, sized), over)
        record, known = self.source.record, self.source.layer_names
        names = [step_name(step, record, known) for step in plan.steps]
        peak = describe_peak(plan, names) if excess.what == ARENA else None
        return excess.error(None if peak is None else f"the peak is {peak}", hint=hint)

    def summary(self) -> str:
        return (
            f"{text.plural(len(self.record.steps), 'op')}, "
            f"arena {text.size(self.record.arena_bytes)}"
        )


def _port(port: PortRecord) -> PortResult:
    scheme = port.quantization
    return PortResult(
        port.name,
        port.dtype,
        port.shape,
        port.layout,
        None if scheme is None else scheme.scale,
        None if scheme is None else scheme.zero_point,
        None if scheme is None else scheme.activations,
        port.feed,
    )
