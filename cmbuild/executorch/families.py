"""The families of operators with kernels in a checkout: declarations and libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cmbuild.errors import Failed

PRIMITIVE = "executorch_prim"
"""Operators of this namespace are part of the runtime itself."""


class NoKernel(Failed):
    template = "{root} does not have a kernel for {operators}"
    hint = "the static executor may have one: omit --executor executorch"


@dataclass(frozen=True, slots=True)
class Family:
    """Operators declared in one file.

    Attributes:
        declarations: file in the checkout, a list of `- func:` or `- op:` entries.
        option: of upstream's code generator, for that file.
        libraries: CMake targets with the kernels.
    """

    name: str
    declarations: str
    option: str
    libraries: tuple[str, ...]


PORTABLE = "portable_kernels"
"""A library so large that only the needed kernels are built."""

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
        (PORTABLE, "kernels_util_all_deps"),
    ),
    Family(
        "portable",
        "kernels/portable/functions.yaml",
        "--functions-yaml-path",
        (PORTABLE, "kernels_util_all_deps"),
    ),
)

CORE = "executorch_core"
PRIMITIVES = "executorch"
"""The libraries of the runtime itself, and of its primitive operators."""


def assign(root: Path, operators: Iterable[str]) -> Mapping[Family, tuple[str, ...]]:
    """The families of a checkout that declare operators; primitive ones are left out.

    Raises:
        NoKernel: names all that are not declared.
    """
    declared = {family: dict(_entries(root / family.declarations)) for family in FAMILIES}
    families: dict[Family, tuple[str, ...]] = {}
    missing = []
    for operator in operators:
        if operator.startswith(f"{PRIMITIVE}::"):
            continue
        family = next((each for each in FAMILIES if operator in declared[each]), None)
        if family is None:
            missing.append(operator)
        else:
            families[family] = (*families.get(family, ()), operator)
    if missing:
        raise NoKernel(root=root, operators=", ".join(missing))
    return families


def functions(root: Path) -> Mapping[str, frozenset[str]]:
    """The C++ functions of each operator with portable kernels, without namespaces."""
    kernels = {}
    for family in FAMILIES:
        if PORTABLE in family.libraries:
            for name, entry in _entries(root / family.declarations):
                kernels[name] = frozenset(re.findall(r"kernel_name:\s*[\w:]*\b(\w+)", entry))
    return kernels


def needed_sources(
    sources: Iterable[Path], known: Mapping[str, frozenset[str]], operators: Iterable[str]
) -> list[Path]:
    """The sources of portable kernels that operators need: those that mention their functions, or
    functions that these mention; and all that are not named after an operator.

    Args:
        known: from `functions`.

    Returns: none if some function is mentioned nowhere; then everything must be built.
    """
    sources = list(sources)
    everything = frozenset().union(*known.values())
    mentions = {
        file: everything.intersection(re.findall(r"\w+", _text(file)))
        for file in sources
        if file.name.startswith("op_")
    }
    wanted = frozenset().union(*(known[name] for name in operators))
    if wanted - frozenset().union(*mentions.values()):
        return []
    while more := {f for names in mentions.values() if names & wanted for f in names} - wanted:
        wanted |= more
    return [file for file in sources if file not in mentions or mentions[file] & wanted]


def _entries(file: Path) -> Iterator[tuple[str, str]]:
    """A file's declarations: full names of operators, in `aten` by default, with their lines."""
    text = _text(file) if file.is_file() else ""
    for entry in re.split(r"^-\s+(?=(?:func|op):)", text, flags=re.MULTILINE)[1:]:
        match = re.match(r"\w+:\s*([\w:.]+)", entry)
        if match is not None:
            yield match[1] if "::" in match[1] else f"aten::{match[1]}", entry


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
