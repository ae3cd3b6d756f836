"""The runner whose executor is ExecuTorch's own runtime, for the pipeline."""

from __future__ import annotations

from cmbuild.cache.folders import CacheFolder
from cmbuild.errors import UsageError
from cmbuild.executorch.checkout import find_cmsis_nn, find_root
from cmbuild.executorch.simulated import simulated
from cmbuild.executorch.stages.checkout import CheckoutStage
from cmbuild.executorch.stages.libraries import ExecutorchLibraryStage, OperatorStage
from cmbuild.executorch.stages.plan import ExecutorchPlanStage
from cmbuild.executorch.stages.runner import ExecutorchRunnerStage, PoolStage
from cmbuild.pipeline.executors import RunnerParts
from cmbuild.pipeline.request import IO, BuildRequest
from cmbuild.toolchain.toolchains import TOOLCHAINS


class NotForExecutorch(UsageError):
    template = "{what} is not supported by --executor executorch"


def runner(parts: RunnerParts) -> ExecutorchRunnerStage:
    """Raises NotForExecutorch, or what the checkout lacks."""
    library, board, folder = parts.library, parts.board, parts.folder
    _check(parts.request, library.toolchain_name)
    processes, project = parts.context.processes, parts.project
    root = find_root(parts.request.executor.executorch_root, project.executorch)
    plan = ExecutorchPlanStage(parts.source, board, library.target.isa, folder)
    check = CheckoutStage(root, find_cmsis_nn(project.cmsis_nn), plan.name, folder)
    operators = OperatorStage(plan, check, processes, folder)
    libraries = ExecutorchLibraryStage(
        operators, library, parts.context, CacheFolder.EXECUTORCH.path
    )
    place = simulated(board, library.target.isa, parts.boards)
    dry = ExecutorchRunnerStage(plan, library, place, folder, libraries=libraries)
    pools = PoolStage(dry, parts.launcher if place is board else None, processes, folder)
    return ExecutorchRunnerStage(plan, library, board, folder, libraries=libraries, pools=pools)


def _check(request: BuildRequest, toolchain: str) -> None:
    """Refuses options that ExecuTorch's runtime has no counterpart of."""
    unsupported = {
        f"--io {request.boundary.io}": request.boundary.io != IO[0],
        "--intermediates": request.source.intermediates is not None,
        f"--feed {request.boundary.feed}": request.boundary.by_rows,
        "--ram-budget": request.planning.ram_budget is not None,
        "--weights-as int16": request.planning.wide,
        f"--toolchain {toolchain}": not TOOLCHAINS[toolchain].builds_executorch,
    }
    for what, is_asked in unsupported.items():
        if is_asked:
            raise NotForExecutorch(what=what)
