"""pools, runner: images whose executor is ExecuTorch's own runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from cmbuild import paths
from cmbuild.boards.board import Board
from cmbuild.cache.fingerprint import Value
from cmbuild.cache.store import Entry
from cmbuild.executorch.runtime import Pools
from cmbuild.executorch.stages.libraries import ExecutorchLibraryStage
from cmbuild.executorch.stages.plan import ExecutorchPlanStage
from cmbuild.launchers.base import Launcher
from cmbuild.launchers.execution import Interface, Request, execute, time_limit
from cmbuild.launchers.selection import choose
from cmbuild.pipeline.stages.library import LibraryStage
from cmbuild.pipeline.stages.runner import SOURCES, RunnerStage
from cmbuild.pipeline.stages.stage import Stage, StageKind
from cmbuild.process import Processes
from cmbuild.text import size

_RECORD = "pools.json"  # the dry run's peak use


class ExecutorchRunnerStage(RunnerStage):
    """The image that loads a program; or, without pools, the one of the dry run."""

    def __init__(
        self,
        plan: ExecutorchPlanStage,
        library: LibraryStage,
        board: Board,
        folder: Path,
        *,
        libraries: ExecutorchLibraryStage,
        pools: PoolStage | None = None,
    ) -> None:
        board = replace(board, stack=board.assumed_stack)  # C++ calls by pointers of any depth
        super().__init__(plan, library, board, folder)
        self.executor = "executorch"
        self.after = (plan, library, libraries, *([] if pools is None else [pools]))
        self._libraries = libraries
        self._pools = pools

    def parts(self) -> Mapping[str, Value]:
        return {
            **super().parts(),
            "registration": [source.parent for source in self._libraries.operators.sources],
            "libraries": self._libraries.entry.folder,
            "headers": self._libraries.fingerprint,
            "pools": None if self._pools is None else self._pools.record.model_dump(),
        }

    @property
    def kernels(self) -> Set[str]:
        """None: the image checks for them itself, and names missing ones."""
        return frozenset()

    def options(self) -> Sequence[str]:
        pools = None if self._pools is None else self._pools.record
        return self._libraries.runtime.cmake(self._libraries.operators.sources, pools)


class PoolStage(Stage):
    """Sizes of the pools, measured by one inference with all remaining memory."""

    kind = StageKind.POOLS
    verb = "measured"

    def __init__(
        self, dry: ExecutorchRunnerStage, launcher: str | None, processes: Processes, folder: Path
    ) -> None:
        """
        Args:
            dry: the runner without pools; not a stage of its own.
            launcher: its name; the best installed one if None.
        """
        self.name = dry.name
        self.subject = f"dry run of {dry.plan.source.name} on {dry.board.name}"
        self.after = dry.after
        self._dry = dry
        self._launcher = launcher
        self._processes = processes
        self._folder = folder

    @cached_property
    def launcher(self) -> Launcher:
        return choose(self._dry.board, self._launcher)

    @cached_property
    def record(self) -> Pools:
        return Pools.model_validate_json((self.entry.folder / _RECORD).read_bytes())

    def parts(self) -> Mapping[str, Value]:
        runtime = paths.runtime()
        return {**self._dry.parts(), "runner": [runtime / name for name in SOURCES]}

    def check(self) -> None:
        """Raises LauncherMissing."""
        self.launcher  # noqa: B018

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "pools")

    def make(self, folder: Path) -> None:
        self.__dict__.pop("record", None)
        image = self._dry.link(folder / "build", self._dry.board)
        plan = self._dry.plan.record
        zeros = [bytes(port.place.bytes) for port in plan.inputs]
        execution = execute(
            self.launcher,
            self._processes,
            image,
            Interface.of(plan),
            Request([zeros], profiled=0),
            folder=folder / "streams",
            timeout=time_limit(plan.macs, 1),
            log=folder / "dry-run.txt",
        )
        used = {pool.name: pool.used for pool in execution.pools}
        (folder / _RECORD).write_text(Pools.model_validate(used).model_dump_json())

    def summary(self) -> str:
        return f"method {size(self.record.method)}, temporary {size(self.record.temporary)}"
