"""Lists in README.md and docs/ that are generated from registries.

A block `<!-- generated: NAME -->` … `<!-- end -->` contains the output of the generator NAME.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from cmbuild import discovery
from cmbuild.catalog import read_board
from cmbuild.cycles.counter import core_title
from cmbuild.cycles.registry import modelled_cores, timing_model
from cmbuild.hardware import methods
from cmbuild.launchers import simulators
from cmbuild.launchers.registry import launchers_of
from cmbuild.pipeline.stages.stage import StageKind
from cmbuild.tasks.variables import NAMES
from cmbuild.text import shape
from cmbuild.toolchain import compilers
from cmbuild.toolchain.toolchains import CROSS, TOOLCHAINS
from cmbuild.toolchain.tools import install_command
from cmcompiler import zoo
from cmcompiler.decode.registry import operators
from cmcompiler.tflite.operators import PREFIX
from harness.package_calls import table as package_calls
from harness.predictions import table as predictions
from harness.reads import table as reads
from harness.second_opinion import loops
from harness.sources import ROOT, torch_users
from harness.typed_rows import table as types_of_operators

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def doit_tasks() -> str:
    return _table(["task", "makes"], [[f"`{kind.label}`", kind.value] for kind in StageKind])


def doit_variables() -> str:
    return ", ".join(f"`{name}`" for name in NAMES) + "\n"


def importers_of_torch() -> str:
    """Packages stand for all their modules."""
    frontend = "cmcompiler.frontend"
    parts = {name.removeprefix(f"{frontend}.").partition(".")[0] for name in torch_users()}
    return "".join(f"- `{frontend}.{part}`\n" for part in sorted(parts))


def timing_models() -> str:
    rows = []
    for cpu in modelled_cores():
        core = timing_model(cpu)
        assert core is not None
        evidence = core.evidence
        rows.append([core_title(cpu), _percent(evidence.error_percent), evidence.summary])
    return _table(["core", "error", "evidence"], rows)


def second_opinion() -> str:
    rows = []
    for loop in loops():
        m55, m85 = loop.llvm["cortex-m55"], loop.llvm["cortex-m85"]
        counts = [str(len(loop.instructions)), *(f"{x:.0f}" for x in (loop.cycles, m55))]
        row = [f"`{loop.function}`", *counts, f"{loop.difference:.0f} %", f"{m85:.0f}"]
        if row not in rows:
            rows.append(row)
    return _table(["loop", "instructions", "here", "LLVM", "difference", "LLVM, Cortex-M85"], rows)


def tflite_operators() -> str:
    """Those with readers, and those that the reader of files follows itself."""
    known = {name.removeprefix(PREFIX) for name in operators() if name.startswith(PREFIX)}
    names = sorted(known | {"CALL_ONCE", "IF", "VAR_HANDLE"})
    return ", ".join(f"`{name}`" for name in names) + "\n"


def zoo_models() -> str:
    rows = []
    for model in zoo.models():
        weights = "trained when exported" if model.train else "seeded random"
        if model.checkpoint:
            weights = "pretrained"
        if model.trained:
            weights = "MLPerf Tiny's"
        rows.append([f"`{model.name}`", shape(model.input_shape), model.summary, weights])
    return _table(["name", "input", "what it is", "weights"], rows)


def calls_of_packages() -> str:
    return _table(*package_calls())


def prediction_errors() -> str:
    return _table(*predictions())


def flash_prediction_errors() -> str:
    return _table(*reads())


def boards() -> str:
    rows = []
    for file in sorted((ROOT / "boards").glob("*/board.toml")):
        board = read_board(file.parent)
        launchers = " or ".join(launcher.title for launcher in launchers_of(board))
        title = board.title if board.note is None else f"{board.title}; {board.note}"
        rows.append([f"`{board.name}`", title, launchers or "no simulator"])
    return _table(["board", "what it is", "runs on"], rows)


def launchers() -> str:
    rows = [
        [f"`launchers.{name}`", *_description(table)]
        for name, table in discovery.entries(simulators, "TABLE").items()
    ]
    return _table(["table", "runs images on", "keys"], rows)


def flash_methods() -> str:
    rows = [
        [f"`{name}`", *_description(table)]
        for name, table in discovery.entries(methods, "TABLE").items()
    ]
    return _table(["method", "what it does", "keys of `flash.<method>`"], rows)


def toolchains() -> str:
    rows = []
    for name in CROSS:
        tool = TOOLCHAINS[name].compiler
        about = inspect.getdoc(import_module(f"{compilers.__name__}.{name}")) or ""
        source = f"pip install 'cmbuild[{tool.extra}]'" if tool.extra else install_command(tool)
        oldest = (tool.oldest or "").removesuffix(".0")
        rows.append([f"`{name}`", about.rstrip("."), f"{oldest} or newer", f"`{source}`"])
    return _table(["`--toolchain`", "what it is", "version", "installed by"], rows)


def _description(documented: type) -> tuple[str, str]:
    """A class's summary, and its attributes with their meaning."""
    text = inspect.getdoc(documented) or ""
    summary, _, attributes = text.partition("\n\nAttributes:\n")
    matches = re.findall(r"^    (\w+): (.+(?:\n     +.+)*)", attributes, re.MULTILINE)
    keys = [f"`{name}`: {' '.join(meaning.split()).rstrip('.')}" for name, meaning in matches]
    return " ".join(summary.split()).rstrip("."), "; ".join(keys) or "none"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _percent(error: int | None) -> str:
    return "not validated" if error is None else f"±{error} %"


GENERATORS: Mapping[str, Callable[[], str]] = {
    "tasks": doit_tasks,
    "variables": doit_variables,
    "importers-of-torch": importers_of_torch,
    "tflite-operators": tflite_operators,
    "timing-models": timing_models,
    "second-opinion": second_opinion,
    "types-of-operators": types_of_operators,
    "zoo": zoo_models,
    "boards": boards,
    "calls-of-packages": calls_of_packages,
    "prediction-errors": prediction_errors,
    "flash-prediction-errors": flash_prediction_errors,
    "launchers": launchers,
    "flash-methods": flash_methods,
    "toolchains": toolchains,
}


def blocks(document: Path) -> list[str]:
    """Names of the generated blocks of a document."""
    return [listed[2] for listed in _BLOCK.finditer(document.read_text())]


def generated(document: Path) -> str:
    """A document with all its blocks regenerated."""
    return _BLOCK.sub(
        lambda actual: f"{actual[1]}{GENERATORS[actual[2]]()}{actual[4]}", document.read_text()
    )
