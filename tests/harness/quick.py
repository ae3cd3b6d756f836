"""What `./cmbuildw test --quick` runs: tests that need neither torch nor Arm's compiler."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from harness.sources import ROOT, imports_of, is_heavy

TESTS = ROOT / "tests"

FOLDERS = (
    *(f"cmcompiler/{name}" for name in ("decode", "importer", "ir", "plan", "pte", "tflite")),
    *("cmcompiler/ops", "cmcompiler/emit"),
    *(f"cmbuild/{name}" for name in ("boards", "chips", "cycles", "display", "doctor", "outputs")),
    *(f"cmbuild/{name}" for name in ("projects", "report", "sizing", "verify")),
    "house",
)
"""Folders of the core's own tests."""

SLOW_OR_MORE = {
    *(f"cmbuild/cycles/test_{name}.py" for name in ("counter", "decoding", "plugin")),
    *("cmbuild/doctor/test_components.py", "cmbuild/sizing/test_linking.py"),
    *(f"cmcompiler/ops/test_{name}.py" for name in ("dtypes", "sizes", "masked_softmax")),
    *("cmcompiler/emit/test_fed_ports.py", "cmcompiler/plan/test_drafting.py"),
    *("cmcompiler/plan/streams/test_bands.py", "cmcompiler/executorch/test_isa_check.py"),
    "cmcompiler/pte/test_schema.py",
}
"""Files in these folders that build for boards, need ExecuTorch or take long."""


def needs_more(path: Path) -> bool:
    """Whether a file or folder of tests is not one of the quick ones."""
    if not path.is_relative_to(TESTS):
        return False
    place = path.relative_to(TESTS)
    if path.is_dir():
        return not any(_are_related(place, Path(folder)) for folder in FOLDERS)
    if path.name == "conftest.py":
        return False
    is_listed = any(place.is_relative_to(folder) for folder in FOLDERS)
    return not is_listed or str(place) in SLOW_OR_MORE or _imports_torch(path)


def _are_related(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


@cache
def _imports_torch(path: Path) -> bool:
    """Whether a file of tests imports torch at once, directly or through a helper of the tests."""
    for each in imports_of(path.stem, path):
        if not each.at_once or each.for_types:
            continue
        if is_heavy(each.imported):
            return True
        head, _, rest = each.imported.partition(".")
        helper = TESTS / head / f"{rest.split('.')[0]}.py"
        is_helper = head in ("harness", "fuzz") and helper != path and helper.is_file()
        if is_helper and _imports_torch(helper):
            return True
    return False
