"""Tests mirror the tree: a package has its folder of tests, and each module tests that run it."""

from __future__ import annotations

from pathlib import Path

from harness.sources import MODULES, PACKAGES, ROOT, imports_of, within

TESTS = ROOT / "tests"

ELSEWHERE = {
    "cmbuild.benchmark.matrix": "tests/cmbuild/cli/test_bench.py",
    "cmbuild.cli": "tests/cmbuild/cli",
    "cmbuild.conformance": "tests/cmbuild/conformance/test_command.py",
    "cmbuild.cycles.vector_decoding": "tests/cmbuild/cycles/test_decoding.py",
    "cmbuild.datasets.data": "tests/cmbuild/workers/test_evaluation.py",
    "cmbuild.doctor.availability": "tests/cmbuild/cli/test_lists.py",
    "cmbuild.executorch": "tests/cmbuild/cli/test_executorch.py",
    "cmbuild.hardware.program_method": "tests/cmbuild/hardware/test_probes.py",
    "cmbuild.hardware.rack.keeper": "tests/cmbuild/cli/test_rack.py",
    "cmbuild.launchers.simulators": "tests/cmbuild/launchers",
    "cmbuild.pipeline.debugger": "tests/cmbuild/cli/test_debug.py",
    "cmbuild.pipeline.explaining": "tests/cmbuild/cli/test_explain.py",
    "cmbuild.pipeline.failures": "tests/cmbuild/tasks/test_run.py",
    "cmbuild.pipeline.interrupts": "tests/cmbuild/tasks/test_run.py",
    "cmbuild.pipeline.stages.package": "tests/cmbuild/cli/test_package.py",
    "cmbuild.pipeline.stages.simulate": "tests/cmbuild/cli/test_run.py",
    "cmbuild.projects.template": "tests/cmbuild/cli/test_init.py",
    "cmbuild.report": "tests/cmbuild/cli",
    "cmbuild.tasks": "tests/cmbuild/tasks/test_run.py",
    "cmbuild.toolchain": "tests/runtime/test_toolchains.py",
    "cmbuild.warm.client": "tests/cmbuild/warm/test_server.py",
    "cmbuild.workers": "tests/cmbuild/workers/test_cluster.py",
    "cmbuild.zephyr": "tests/zephyr/test_west.py",
    "cmcompiler.decode.contents": "tests/cmcompiler/importer/test_build.py",
    "cmcompiler.emit": "tests/cmcompiler/emit/test_emit.py",
    "cmcompiler.frontend": "tests/cmcompiler/frontend",
    "cmcompiler.importer": "tests/cmcompiler/importer/test_build.py",
    "cmcompiler.ops": "tests/cmcompiler/ops",
    "cmcompiler.plan": "tests/cmcompiler/plan/test_planner.py",
    "cmcompiler.pte": "tests/cmcompiler/pte/test_reader.py",
    "cmcompiler.suggest": "tests/cmbuild/cli/test_bad_input.py",
    "cmcompiler.zoo": "tests/cmcompiler/zoo/test_zoo.py",
}
"""Modules and packages that no test names or imports, and the tests that run them."""

WITHOUT_FOLDER = {
    "cmbuild.benchmark": "tests/cmbuild/cli/test_bench.py",
    "cmbuild.cli.verbs": "tests/cmbuild/cli",
    "cmbuild.executorch.stages": "tests/cmbuild/cli/test_executorch.py",
    "cmbuild.hardware.methods": "tests/cmbuild/hardware",
    "cmbuild.launchers.simulators": "tests/cmbuild/launchers",
    "cmbuild.toolchain.compilers": "tests/runtime/test_toolchains.py",
    "cmbuild.zephyr": "tests/zephyr",
}
"""Packages whose tests are elsewhere; the list is exact."""


def folder_of(package: str) -> Path:
    return TESTS / package.replace(".", "/")


def is_elsewhere(name: str) -> bool:
    return any(within(name, part) for part in ELSEWHERE)


def packages() -> list[str]:
    return [name for name, path in MODULES.items() if path.name == "__init__.py"]


def imported_by_tests() -> set[str]:
    files = [path for path in TESTS.rglob("test_*.py") if "data" not in path.parts]
    return {each.imported for path in files for each in imports_of(path.stem, path)}


def test_every_package_has_a_folder_of_tests():
    without = {name for name in packages() if not list(folder_of(name).rglob("test_*.py"))}
    assert without == WITHOUT_FOLDER.keys()
    assert [place for place in WITHOUT_FOLDER.values() if not (ROOT / place).exists()] == []


def test_every_folder_of_tests_has_its_package():
    folders = {path.parent for name in PACKAGES for path in (TESTS / name).rglob("test_*.py")}
    assert folders <= {folder_of(name) for name in packages()}


def test_no_module_is_without_tests():
    """One has a file of its name, or a test imports it, or it is in the list."""
    imported = imported_by_tests()
    lacking = set()
    for name, path in MODULES.items():
        package, _, stem = name.rpartition(".")
        own = folder_of(package) / f"test_{stem}.py"
        if path.stem not in ("__init__", "__main__", "dodo") and name not in imported:
            lacking |= set() if own.is_file() else {name}
    assert {name for name in lacking if not is_elsewhere(name)} == set()
    needless = {part for part in ELSEWHERE if not any(within(name, part) for name in lacking)}
    assert needless == set(), "take them off the list"
    assert [place for place in ELSEWHERE.values() if not (ROOT / place).exists()] == []
