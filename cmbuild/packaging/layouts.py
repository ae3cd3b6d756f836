"""Layouts of source packages: any CMake build, Arduino's IDE, PlatformIO.

Sources: Arduino's library specification; PlatformIO's documentation of library.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from cmcompiler.plan.record import PlanRecord

SOURCE_FORMS = ("source", "arduino", "platformio")
"""Packages that include the runtime."""

_VERSION = "1.0.0"
_URL = "https://spdx.org/licenses/BSD-3-Clause.html"
"""Arduino's format requires a page: the only one that every package has is its licence's."""

_AT_THE_TOP = ("LICENSE", "plan.json")

# Neither Arduino's library format nor its boards pass options to a library's files.
_FLOAT = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off", "no-math-errno", "no-tree-vectorize")
#else
#pragma STDC FP_CONTRACT OFF
#endif
"""


def laid_out(form: str, plan: PlanRecord, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a source package in the layout of `form`, one of SOURCE_FORMS."""
    if form == "source":
        return dict(files)
    moved = {
        path if path in _AT_THE_TOP else f"src/{path}": content
        for path, content in files.items()
        if not path.endswith((".cmake", "CMakeLists.txt"))
    }
    if form == "arduino":
        moved = {
            path: _FLOAT.encode() + content if path.endswith(".c") else content
            for path, content in moved.items()
        }
        return moved | {"library.properties": _arduino(plan).encode()}
    return moved | {"library.json": (json.dumps(_platformio(plan), indent=2) + "\n").encode()}


def _sentence(plan: PlanRecord) -> str:
    return f"The neural network {plan.model}, planned by cmbuild for kernels in {plan.isa}."


def _arduino(plan: PlanRecord) -> str:
    fields = {
        "name": plan.model,
        "version": _VERSION,
        "author": "cmbuild",
        "maintainer": "cmbuild",
        "sentence": _sentence(plan),
        "paragraph": f"Include {plan.model}.h. Identity {plan.identity}.",
        "category": "Data Processing",
        "url": _URL,
        "architectures": "*",
        "includes": f"{plan.model}.h",
    }
    return "".join(f"{key}={value}\n" for key, value in fields.items())


def _platformio(plan: PlanRecord) -> dict[str, object]:
    return {
        "name": plan.model,
        "version": _VERSION,
        "description": _sentence(plan),
        "keywords": ["neural network", "inference", "cortex-m"],
        "authors": [{"name": "cmbuild"}],
        "license": "BSD-3-Clause",
        "headers": f"{plan.model}.h",
        "frameworks": "*",
        "platforms": "*",
        "build": {
            "srcDir": "src",
            "includeDir": "src",
            "flags": ["-ffp-contract=off", "-fno-math-errno", "-fno-tree-vectorize", "-Isrc"],
        },
    }
