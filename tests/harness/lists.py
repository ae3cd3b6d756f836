"""Lists in README.md and docs/ that are generated from registries.

A block `<!-- generated: NAME -->` … `<!-- end -->` contains the output of the generator NAME.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from cmbuild.cycles.counter import core_title
from cmbuild.cycles.registry import CORES
from cmbuild.pipeline.stages.stage import StageKind
from cmbuild.tasks.variables import NAMES
from harness.sources import ROOT, torch_users

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def doit_tasks() -> str:
    rows = [f"| `{kind.label}` | {kind.value} |\n" for kind in StageKind]
    return "".join(["| task | makes |\n", "| --- | --- |\n", *rows])


def doit_variables() -> str:
    return ", ".join(f"`{name}`" for name in NAMES) + "\n"


def importers_of_torch() -> str:
    """Packages stand for all their modules."""
    frontend = "cmcompiler.frontend"
    parts = {name.removeprefix(f"{frontend}.").partition(".")[0] for name in torch_users()}
    return "".join(f"- `{frontend}.{part}`\n" for part in sorted(parts))


def timing_models() -> str:
    found = [(core_title(cpu), core.evidence) for cpu, core in sorted(CORES.items())]
    rows = [f"| {name} | {_percent(e.error_percent)} | {e.summary} |\n" for name, e in found]
    return "".join(["| core | error | evidence |\n", "| --- | --- | --- |\n", *rows])


def _percent(error: int | None) -> str:
    return "not validated" if error is None else f"±{error} %"


GENERATORS: Mapping[str, Callable[[], str]] = {
    "tasks": doit_tasks,
    "variables": doit_variables,
    "importers-of-torch": importers_of_torch,
    "timing-models": timing_models,
}


def blocks(document: Path) -> list[str]:
    """Names of the generated blocks of a document."""
    return [found[2] for found in _BLOCK.finditer(document.read_text())]


def generated(document: Path) -> str:
    """A document with all its blocks regenerated."""
    return _BLOCK.sub(
        lambda found: f"{found[1]}{GENERATORS[found[2]]()}{found[4]}", document.read_text()
    )
