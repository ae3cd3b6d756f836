"""Tests mirror the tree: a package has its folder of tests, and each module tests that run it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.sources import IMPORTS, MODULES, PACKAGES, ROOT, imports_of, within

TESTS = ROOT / "tests"

ELSEWHERE = {
    "cmbuild.cli.options": "tests/docs/test_commands.py",
    "cmbuild.cli.plain_doit": "tests/cmbuild/cli/test_bad_input.py",
    "cmbuild.cli.session": "tests/cmbuild/cli/test_run.py",
    "cmbuild.cli.verbs.conformance": "tests/cmbuild/conformance/test_command.py",
    "cmbuild.cli.verbs.monitor": "tests/cmbuild/cli/test_hardware.py",
    "cmbuild.cli.verbs.worker": "tests/cmbuild/workers/test_cluster.py",
    "cmbuild.cli.verbs.zephyr": "tests/zephyr/test_west.py",
    "cmbuild.conformance.recorder": "tests/cmbuild/conformance/test_command.py",
    "cmbuild.conformance.results": "tests/cmbuild/conformance/test_command.py",
    "cmbuild.conformance.stages": "tests/cmbuild/conformance/test_command.py",
    "cmbuild.conformance.suite": "tests/cmbuild/conformance/test_command.py",
    "cmbuild.cycles.vector_decoding": "tests/cmbuild/cycles/test_decoding.py",
    "cmbuild.datasets.data": "tests/cmbuild/workers/test_evaluation.py",
    "cmbuild.doctor.availability": "tests/cmbuild/cli/test_lists.py",
    "cmbuild.executorch.stages.checkout": "tests/cmbuild/cli/test_executorch.py",
    "cmbuild.executorch.stages.libraries": "tests/cmbuild/cli/test_executorch.py",
    "cmbuild.executorch.stages.plan": "tests/cmbuild/cli/test_executorch.py",
    "cmbuild.hardware.program_method": "tests/cmbuild/hardware/test_probes.py",
    "cmbuild.hardware.rack.keeper": "tests/cmbuild/cli/test_rack.py",
    "cmbuild.launchers.simulators.unicorn": "tests/cmbuild/launchers/test_unicorn.py",
    "cmbuild.pipeline.debugger": "tests/cmbuild/cli/test_debug.py",
    "cmbuild.pipeline.explaining": "tests/cmbuild/cli/test_explain.py",
    "cmbuild.pipeline.failures": "tests/cmbuild/tasks/test_run.py",
    "cmbuild.pipeline.interrupts": "tests/cmbuild/tasks/test_run.py",
    "cmbuild.pipeline.stages.package": "tests/cmbuild/cli/test_package.py",
    "cmbuild.projects.editor": "tests/cmbuild/cli/test_init.py",
    "cmbuild.report.html.environment": "tests/cmbuild/report/html/test_page.py",
    "cmbuild.pipeline.stages.simulate": "tests/cmbuild/cli/test_run.py",
    "cmbuild.projects.template": "tests/cmbuild/cli/test_init.py",
    "cmbuild.report.actions": "tests/cmbuild/cli/test_schema.py",
    "cmbuild.report.conformance": "tests/cmbuild/conformance/test_command.py",
    "cmbuild.report.west": "tests/zephyr/test_west.py",
    "cmbuild.tasks.config": "tests/cmbuild/tasks/test_run.py",
    "cmbuild.tasks.events": "tests/cmbuild/tasks/test_run.py",
    "cmbuild.workers.distribution": "tests/cmbuild/workers/test_cluster.py",
    "cmbuild.workers.fork_server": "tests/cmbuild/workers/test_pool.py",
    "cmbuild.workers.site": "tests/cmbuild/workers/test_pool.py",
    "cmbuild.zephyr.request": "tests/zephyr/test_west.py",
    "cmbuild.zephyr.simulators": "tests/zephyr/test_west.py",
    "cmbuild.zephyr.stages": "tests/zephyr/test_west.py",
    "cmcompiler.decode.contents": "tests/cmcompiler/importer/test_build.py",
    "cmcompiler.emit.interface_text": "tests/cmcompiler/emit/test_fed_ports.py",
    "cmcompiler.frontend.annotations": "tests/cmcompiler/frontend/test_export.py",
    "cmcompiler.frontend.fidelity.forced": "tests/cmcompiler/frontend/fidelity/test_check.py",
    "cmcompiler.frontend.fidelity.parts": "tests/cmcompiler/frontend/fidelity/test_weighings.py",
    "cmcompiler.frontend.rewrites.classes": "tests/cmcompiler/frontend/rewrites/test_spelling.py",
    "cmcompiler.frontend.rewrites.einsum": "tests/cmcompiler/frontend/rewrites/test_products.py",
    "cmcompiler.frontend.rewrites.fourier": (
        "tests/cmcompiler/frontend/rewrites/test_complex_numbers.py"
    ),
    "cmcompiler.frontend.tester": "tests/cmbuild/conformance/test_program_check.py",
    "cmcompiler.importer.reading": "tests/cmcompiler/importer/test_build.py",
    "cmcompiler.importer.state": "tests/cmcompiler/importer/test_states.py",
    "cmcompiler.ops.support.banded": "tests/cmcompiler/importer/test_bands.py",
    "cmcompiler.plan.resolver": "tests/cmcompiler/plan/test_planner.py",
    "cmcompiler.plan.streams.encoding": "tests/cmcompiler/plan/streams/test_search.py",
    "cmcompiler.pte.container": "tests/cmcompiler/pte/test_reader.py",
    "cmcompiler.pte.values": "tests/cmcompiler/pte/test_reader.py",
}
"""Modules that no test names or imports, and the tests that run them."""

MOST_ELSEWHERE = 60

SCANNED = {
    "cmbuild.cli.verbs": "tests/cmbuild/cli/test_schema.py",
    "cmbuild.report": "tests/cmbuild/cli/test_schema.py",
    "cmcompiler.ops": "tests/cmcompiler/ops/test_dtypes.py",
    "cmcompiler.ops.tflite": "tests/cmcompiler/ops/tflite/test_operators.py",
    "cmcompiler.zoo": "tests/cmcompiler/zoo/test_zoo.py",
}
"""Folders of verbs, operators and models, and tests that fail for one without a case."""

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

_REGISTERS = re.compile(r"\b(program|tflite|image)_op\(")


def folder_of(package: str) -> Path:
    return TESTS / package.replace(".", "/")


def packages() -> list[str]:
    return [name for name, path in MODULES.items() if path.name == "__init__.py"]


def imported_by_tests() -> set[str]:
    files = [path for path in TESTS.rglob("test_*.py") if "data" not in path.parts]
    return {each.imported for path in files for each in imports_of(path.stem, path)}


def verbs_with_a_case() -> set[str]:
    """Verbs that tests/cmbuild/cli calls: by test_schema.py, or by a file of the verb's name."""
    folder = TESTS / "cmbuild" / "cli"
    tree = ast.parse((folder / "test_schema.py").read_text())
    called = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "CALLS"
    )
    names = {str(name) for name in ast.literal_eval(ast.List(called.keys, ast.Load()))}
    return names | {path.stem.removeprefix("test_") for path in folder.glob("test_*.py")}


def scanned() -> set[str]:
    """Modules that SCANNED holds: verbs with a case and their reports, operators, models of the
    zoo, and what operators and models are made of.
    """
    verbs = verbs_with_a_case()
    named = {
        name
        for name in MODULES
        for package in ("cmbuild.cli.verbs", "cmbuild.report")
        if name.removeprefix(f"{package}.") in verbs
    }
    operators = {
        name
        for name, path in MODULES.items()
        if within(name, "cmcompiler.ops") and _REGISTERS.search(path.read_text())
    }
    models = {
        name
        for name, path in MODULES.items()
        if within(name, "cmcompiler.zoo") and not path.stem.startswith("_")
    }
    registered = operators | models
    return named | parts_of(registered, ("cmcompiler.ops", "cmcompiler.zoo"))


def parts_of(modules: Iterable[str], packages: tuple[str, ...]) -> set[str]:
    """Modules, and those of some packages that they import, directly or not."""
    reached, ahead = set(), list(modules)
    edges: dict[str, list[str]] = {}
    for each in IMPORTS:
        if any(within(each.imported, package) for package in packages):
            edges.setdefault(each.importer, []).append(each.imported)
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += edges.get(name, [])
    return reached


def untested(modules: Mapping[str, Path]) -> set[str]:
    """Modules without a file of tests of their name that no test imports and nothing scans."""
    known = imported_by_tests() | scanned()
    lacking = set()
    for name, path in modules.items():
        package, _, stem = name.rpartition(".")
        own = folder_of(package) / f"test_{stem}.py"
        if path.stem not in ("__init__", "__main__", "dodo") and name not in known:
            lacking |= set() if own.is_file() else {name}
    return lacking


def test_every_package_has_a_folder_of_tests():
    without = {name for name in packages() if not list(folder_of(name).rglob("test_*.py"))}
    assert without == WITHOUT_FOLDER.keys()
    assert [place for place in WITHOUT_FOLDER.values() if not (ROOT / place).exists()] == []


def test_every_folder_of_tests_has_its_package():
    folders = {path.parent for name in PACKAGES for path in (TESTS / name).rglob("test_*.py")}
    assert folders <= {folder_of(name) for name in packages()}


def test_no_module_is_without_tests():
    """One has a file of its name, or a test imports it, or it is in the exact list."""
    assert untested(MODULES) == ELSEWHERE.keys(), "write a test, or take it off the list"
    assert len(ELSEWHERE) <= MOST_ELSEWHERE
    places = {*ELSEWHERE.values(), *SCANNED.values()}
    assert [place for place in places if not (ROOT / place).is_file()] == []


def test_a_new_module_is_noticed():
    """Whatever its package is, if nothing registers it."""
    new = [f"{package}.new" for package in ("cmcompiler.ops", "cmbuild.report", "cmcompiler.zoo")]
    assert untested(dict.fromkeys(new, ROOT / "new.py")) == set(new)
