"""A stand-in for an ExecuTorch checkout: files from the wheel, and tests/fakes/executorch for the
rest. Its core for this computer is the real runtime.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from harness.upstream import INCLUDE, ROOT

FAKE = Path(__file__).parents[1] / "fakes" / "executorch"
FLATBUFFERS = "24.3.25"
"""The version of the wheel's flatc."""

_FROM_WHEEL = (
    "backends/cortex_m/ops/operators.yaml",
    "kernels/portable/custom_ops.yaml",
    "kernels/portable/functions.yaml",
    "kernels/quantized/quantized.yaml",
    "schema/program.fbs",
    "schema/scalar_type.fbs",
)


def make_checkout(parent: Path, version: str = "1.5.1") -> Path:
    """Makes a folder `executorch`."""
    root = parent / "executorch"
    shutil.copytree(INCLUDE / "executorch", root)
    shutil.copytree(ROOT / "codegen", root / "codegen", ignore=lambda *_: ["__pycache__"])
    shutil.copytree(FAKE, root, dirs_exist_ok=True)
    for name in _FROM_WHEEL:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    (root / "version.txt").write_text(f"{version}\n")
    third_party = root / "third-party"
    for name in ("flatbuffers", "flatcc", "gflags", "json"):
        (third_party / name).mkdir(parents=True)
        (third_party / name / "CMakeLists.txt").touch()
    headers = third_party / "flatbuffers" / "include" / "flatbuffers"
    headers.mkdir(parents=True)
    numbers = zip(("MAJOR", "MINOR", "REVISION"), FLATBUFFERS.split("."), strict=True)
    lines = [f"#define FLATBUFFERS_VERSION_{name} {number}" for name, number in numbers]
    (headers / "base.h").write_text("\n".join(lines) + "\n")
    built_in_place = ("json", "gflags", "flatcc")
    lines = ["# flatbuffers", *(f"add_subdirectory({name})" for name in built_in_place)]
    (third_party / "CMakeLists.txt").write_text("\n".join(lines) + "\n")
    return root


def environment() -> dict[str, str]:
    """Environment in which the stand-in's core for this computer is found."""
    library = ROOT / "lib" / "libexecutorch.so"
    return {"STAND_IN_RUNTIME": str(library), "LD_LIBRARY_PATH": str(library.parent)}
