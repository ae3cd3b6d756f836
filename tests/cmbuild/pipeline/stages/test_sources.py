"""What stages say they depend on, against the modules and files that they use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import cmcompiler
from cmbuild import paths
from cmbuild.pipeline.stages import library, runner
from cmbuild.pipeline.stages.program import ProgramSource

COMPILER = Path(cmcompiler.__file__).parent


@pytest.mark.parametrize(
    ("statement", "extra"),
    [
        ("import cmcompiler.plan, cmcompiler.emit", ("plan", "emit")),
        ("import cmcompiler.ir.reference", ()),
    ],
)
def test_modules_of_the_compiler_that_a_result_depends_on(
    statement: str, extra: tuple[str, ...]
) -> None:
    """All that reading and planning, or evaluating, imports counts."""
    code = (
        f"import sys, cmcompiler.importer.build, cmcompiler.pte; {statement}\n"
        "files = (m.__file__ for n, m in sys.modules.items() if n.startswith('cmcompiler.'))\n"
        "print(*files, sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    source = ProgramSource("x", "forward", "program", file=Path("x.pte"))
    compiler = source.parts(*extra)["compiler"]
    assert isinstance(compiler, dict)
    imported = {Path(file).relative_to(COMPILER).parts[0] for file in done.stdout.splitlines()}
    assert imported <= set(compiler)
    assert all((COMPILER / name).exists() for name in compiler)


def test_all_of_the_runtime_is_in_the_library_or_the_image() -> None:
    there = {path.name for path in paths.runtime().iterdir() if not path.name.startswith(".")}
    named = {*library.SOURCES, *runner.SOURCES}
    assert named <= there
    apart = {"CMakePresets.json", "mlperf", "package", "vectors", "kernel_harness", "tools"}
    assert there - named == apart
