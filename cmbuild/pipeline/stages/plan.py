"""plan: .pte → kernel calls, packed constants and arena, as C source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from cmbuild import text
from cmbuild.boards.board import Board
from cmbuild.cache.fingerprint import Value
from cmbuild.cache.store import Entry
from cmbuild.pipeline.stages.program import ProgramSource
from cmbuild.pipeline.stages.stage import Stage, StageKind
from cmbuild.results import PortResult
from cmbuild.toolchain.cmake import check_sizes
from cmcompiler.isa import Isa
from cmcompiler.plan.record import PlanRecord, PortRecord


class PlanStage(Stage):
    """The plan of a program for an instruction set, in the build folder of model and board."""

    kind = StageKind.PLAN
    verb = "planned"

    def __init__(
        self,
        source: ProgramSource,
        board: Board | None,
        isa: Isa,
        folder: Path,
        streams: bool = True,
    ) -> None:
        """
        Args:
            board: the one that it must fit, if known.
            streams: see make_plan.
        """
        self.name = f"{source.name}-{folder.name}"
        self.subject = f"{source.name} for {isa.label}"
        self.after = source.after
        self.source = source
        self.board = board
        self.isa = isa
        self.streams = streams
        self._folder = folder

    def parts(self) -> Mapping[str, Value]:
        return self.source.parts("plan", "emit") | {
            "name": self.source.name,
            "isa": self.isa,
            "streams": self.streams,
            "kernels": self.source.ops.kernels,
        }

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "plan")

    @cached_property
    def record(self) -> PlanRecord:
        from cmcompiler.emit.files import read_record

        return read_record(self.entry.folder)

    @property
    def inputs(self) -> tuple[PortResult, ...]:
        return tuple(map(_port, self.record.inputs))

    @property
    def outputs(self) -> tuple[PortResult, ...]:
        return tuple(map(_port, self.record.outputs))

    def make(self, folder: Path) -> None:
        from cmbuild.toolchain.kernel_sources import check_calls, read_kernels
        from cmcompiler.emit.folder import emit
        from cmcompiler.plan.planner import make_plan

        ops, graph = self.source.ops, self.source.graph()
        with ops.registered():
            plan = make_plan(graph, self.isa, self.streams)
        if ops.kernels is not None:
            check_calls(plan, read_kernels(ops.kernels))
        # The runner checks it again; this check comes before a library is built in vain.
        if self.board is not None:
            check_sizes(self.board, constants=len(plan.constants), arena=plan.arena_bytes)
        emit(plan, folder, self.source.read(), self.source.name)

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
    )
