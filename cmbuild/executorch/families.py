"""The families of operators that a checkout has kernels for: declarations and libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cmbuild.errors import Failed

PRIMITIVE = "executorch_prim"
"""Operators of this namespace come with the runtime itself."""


class NoKernel(Failed):
    template = "{root} has no kernel for {operators}"
    hint = "the static executor may have one: leave out --executor executorch"


@dataclass(frozen=True, slots=True)
class Family:
    """Operators that are declared together.

    Attributes:
        declarations: file in the checkout, a list of `- func:` or `- op:` entries.
        option: of upstream's code generator, for that file.
        libraries: CMake targets with the kernels.
    """

    name: str
    declarations: str
    option: str
    libraries: tuple[str, ...]


FAMILIES = (
    Family(
        "cortex_m",
        "backends/cortex_m/ops/operators.yaml",
        "--custom-ops-yaml-path",
        ("cortex_m_kernels", "cmsis-nn", "kernels_util_all_deps"),
    ),
    Family(
        "quantized",
        "kernels/quantized/quantized.yaml",
        "--custom-ops-yaml-path",
        ("quantized_kernels", "kernels_util_all_deps"),
    ),
    Family(
        "custom",
        "kernels/portable/custom_ops.yaml",
        "--custom-ops-yaml-path",
        ("portable_kernels", "kernels_util_all_deps"),
    ),
    Family(
        "portable",
        "kernels/portable/functions.yaml",
        "--functions-yaml-path",
        ("portable_kernels", "kernels_util_all_deps"),
    ),
)

CORE = "executorch_core"
PRIMITIVES = "executorch"
"""The libraries of the runtime itself, and of its primitive operators."""


def assign(root: Path, operators: Iterable[str]) -> Mapping[Family, tuple[str, ...]]:
    """The families of a checkout that declare operators; primitive ones are left out.

    Raises:
        NoKernel: naming all that are declared nowhere.
    """
    declared = {family: _declared(root / family.declarations) for family in FAMILIES}
    found: dict[Family, tuple[str, ...]] = {}
    missing = []
    for operator in operators:
        if operator.startswith(f"{PRIMITIVE}::"):
            continue
        family = next((each for each in FAMILIES if operator in declared[each]), None)
        if family is None:
            missing.append(operator)
        else:
            found[family] = (*found.get(family, ()), operator)
    if missing:
        raise NoKernel(root=root, operators=", ".join(missing))
    return found


def _declared(file: Path) -> frozenset[str]:
    """Full names of the operators that a file declares; `aten` where it names no namespace."""
    if not file.is_file():
        return frozenset()
    text = file.read_text(encoding="utf-8", errors="replace")
    names = re.findall(r"^-\s+(?:func|op):\s*([\w:.]+)", text, re.MULTILINE)
    return frozenset(name if "::" in name else f"aten::{name}" for name in names)
