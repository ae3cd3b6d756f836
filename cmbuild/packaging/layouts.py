"""Layouts of source packages: any CMake build, Arduino's IDE, PlatformIO.

Sources: Arduino's library specification; PlatformIO's documentation of library.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from cmbuild.packaging.plain_text import LICENCE
from cmcompiler.plan.record import PlanRecord

_VERSION = "1.0.0"
_URL = f"https://spdx.org/licenses/{LICENCE}.html"
"""Arduino's format requires a page: the only one that every package has is its licence's."""

_ARCHITECTURES = {
    "cortex-m0": ("stm32",),
    "cortex-m0plus": ("samd", "mbed_nano", "mbed_rp2040", "rp2040", "stm32"),
    "cortex-m3": ("sam", "stm32"),
    "cortex-m4": (
        *("mbed_nano", "mbed_nicla", "mbed_portenta", "mbed_giga", "renesas_uno", "nrf52"),
        *("samd", "stm32"),
    ),
    "cortex-m7": ("mbed_portenta", "mbed_giga", "mbed_opta", "mbed_nicla", "stm32"),
    "cortex-m33": ("renesas_portenta", "rp2040", "silabs", "stm32"),
}
"""Arduino's platforms with boards of a core, by the names of their folders; `*` for others."""

_RIGHTS = f"Code: {LICENCE}. The weights have the licence that the model's owner gives them."

_AT_THE_TOP = ("LICENSE", "plan.json")

# Neither Arduino's library format nor its boards pass options to a library's files.
_FLOAT = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off", "no-math-errno", "no-tree-vectorize")
#else
#pragma STDC FP_CONTRACT OFF
#endif
"""


def laid_out(form: str, plan: PlanRecord, files: Mapping[str, bytes], cpu: str) -> dict[str, bytes]:
    """The files of a source package in a layout.

    Args:
        form: `source`, `arduino` or `platformio`.
        cpu: the core that it is made for.
    """
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
        return moved | {"library.properties": _arduino(plan, cpu).encode()}
    return moved | {"library.json": (json.dumps(_platformio(plan, cpu), indent=2) + "\n").encode()}


def _sentence(plan: PlanRecord, cpu: str) -> str:
    return f"The neural network {plan.model}, planned by cmbuild for {cpu} ({plan.isa})."


def _arduino(plan: PlanRecord, cpu: str) -> str:
    fields = {
        "name": plan.model,
        "version": _VERSION,
        "author": "cmbuild",
        "maintainer": f"the owner of the model {plan.model}",
        "sentence": _sentence(plan, cpu),
        "paragraph": f"Include {plan.model}.h. Identity {plan.identity}. {_RIGHTS}",
        "category": "Data Processing",
        "url": _URL,
        "architectures": ",".join(_ARCHITECTURES.get(cpu, ("*",))),
        "includes": f"{plan.model}.h",
    }
    return "".join(f"{key}={value}\n" for key, value in fields.items())


def _platformio(plan: PlanRecord, cpu: str) -> dict[str, object]:
    return {
        "name": plan.model,
        "version": _VERSION,
        "description": f"{_sentence(plan, cpu)} {_RIGHTS}",
        "keywords": ["neural network", "inference", "cortex-m"],
        "authors": [{"name": "cmbuild"}],
        "license": LICENCE,
        "headers": f"{plan.model}.h",
        "frameworks": "*",
        "platforms": "*",
        "build": {
            "srcDir": "src",
            "includeDir": "src",
            "flags": ["-ffp-contract=off", "-fno-math-errno", "-fno-tree-vectorize", "-Isrc"],
        },
    }
