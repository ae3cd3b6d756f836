"""Measurement of a package: a link of its objects, and the stack of runs of its plan."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cmbuild.errors import CmbuildError, Missing, ProcessFailed
from cmbuild.packaging.footprint import StackUse
from cmbuild.process import Processes
from cmbuild.projects.figures import FILE as FIGURES
from cmbuild.projects.figures import RunFigures
from cmbuild.sizing.linking import Linked, link
from cmbuild.toolchain import tools
from cmbuild.toolchain.toolchains import DEFAULT, Toolchain, cpu_flags, find_toolchain
from cmcompiler.emit.files import WEIGHTS, read_record
from cmcompiler.plan.record import PlanRecord
from cmcompiler.target import Target

OPTIMISATION = "-Os"
OPTIONS = (
    *("-std=c11", OPTIMISATION, "-ffp-contract=off", "-fno-math-errno", "-fno-tree-vectorize"),
    *("-ffunction-sections", "-fdata-sections"),
)
"""The flags of runtime/cmake that change code."""

_TIMEOUT = 300.0
_FUNCTION = re.compile(r"^(?!static\b|typedef\b)\w[\w *]*?\b(\w+)\([^;{}]*\);", re.MULTILINE)


def find_compiler(processes: Processes, log: Path) -> Toolchain | None:
    """The compiler that code is measured with; None if it, or CMake, is not installed."""
    if tools.find(tools.CMAKE.name) is None:
        return None
    try:
        return find_toolchain(DEFAULT, processes, log)
    except Missing:
        return None


def measure_code(
    name: str,
    files: Mapping[str, bytes],
    target: Target,
    toolchain: Toolchain,
    *,
    processes: Processes,
    log: Path,
) -> Linked | None:
    """A link of a source package's objects with every function of its header, and nothing else.

    None if it does not compile, as a project's own kernels may not.
    """
    header = files[f"{name}.h"].decode()
    roots = [each for each in _FUNCTION.findall(header) if each.startswith(f"{name}_")]
    with tempfile.TemporaryDirectory(prefix="cmbuild-") as root:
        folder, objects = Path(root) / "package", Path(root) / "objects"
        objects.mkdir()
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        sources = [folder / path for path in sorted(files) if path.endswith((".c", ".S"))]
        flags = [*cpu_flags(toolchain.name, target), *OPTIONS, f"-I{folder}"]
        command: list[str | Path] = [*toolchain.words, *flags, "-c", *sources]
        try:
            processes.run(command, log=log, timeout=_TIMEOUT, cwd=objects)
            built = sorted(objects.glob("*.o"))
            return link(built, roots, toolchain, target, processes=processes, log=log)
        except ProcessFailed:
            return None


def measured_stack(plan: PlanRecord, constants: bytes, cpu: str, places: Path) -> StackUse | None:
    """The largest stack of the runs of a plan on a core, whatever the prefix of its symbols.

    Args:
        places: build folder of the model, with a folder for each board.
    """
    uses = []
    for file in sorted(places.glob(f"*/simulate/{FIGURES}")):
        folder = file.parents[1] / "plan"
        try:
            run = RunFigures.model_validate_json(file.read_bytes())
            record = read_record(folder)
            same = _nameless(record) == _nameless(plan)
            same = same and (folder / WEIGHTS).read_bytes() == constants
        except (OSError, ValueError, CmbuildError):
            continue
        stack = run.memory.ram.stack
        if same and stack is not None and run.target == cpu and run.identity == record.identity:
            uses.append(StackUse(bytes=stack, machine=run.machine or run.board))
    return max(uses, key=lambda use: use.bytes, default=None)


def _nameless(record: PlanRecord) -> PlanRecord:
    """A plan without what depends on its name."""
    return record.model_copy(update={"model": "", "identity": ""})
