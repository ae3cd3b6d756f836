"""plan: a program with tables for ExecuTorch's own runtime."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from cmbuild.cache.fingerprint import Value
from cmbuild.firmware.capacity import check_sizes
from cmbuild.pipeline.stages.plan import PlanStage


class ExecutorchPlanStage(PlanStage):
    """A program with the tables for the executor that drives ExecuTorch's runtime."""

    verb = "read"

    def parts(self) -> Mapping[str, Value]:
        return {**super().parts(), "executor": "executorch"}

    @cached_property
    def operators(self) -> tuple[str, ...]:
        """Full names, each once."""
        return tuple(dict.fromkeys(self.source.operators()))

    def inspect(self, folder: Path) -> None:
        from cmcompiler.emit.files import C_FILE, check_record, read_record

        check_record(read_record(folder))
        (folder / C_FILE).read_text("utf-8")

    def make(self, folder: Path) -> None:
        from cmcompiler.executorch.plan import make_executorch_plan
        from cmcompiler.executorch.source import emit_executorch

        graph, method = self.source.graph(), self.source.chosen()
        plan = make_executorch_plan(method, graph, self.isa)
        program = self.source.read()
        if self.board is not None:
            check_sizes(self.board, constants=len(program), arena=plan.arena_bytes)
        emit_executorch(plan, self.isa, folder, program, self.source.name)
