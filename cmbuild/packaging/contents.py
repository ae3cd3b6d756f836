"""The files of a package: a model's own sources, and the runtime's under its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cmbuild import paths
from cmbuild.files import fill
from cmbuild.packaging.plain_text import KERNELS
from cmbuild.packaging.references import with_own_references
from cmbuild.packaging.renaming import placed, renamed, with_prototypes
from cmbuild.packaging.runtime_sources import defined_functions, needed_sources
from cmcompiler.emit.constants import WEIGHTS_SECTION, assembly, byte_array
from cmcompiler.emit.files import C_FILE, RECORD, WEIGHTS
from cmcompiler.emit.interface import PackageInterface
from cmcompiler.emit.vectors import VectorData, vector_files
from cmcompiler.isa import Isa
from cmcompiler.plan.record import PlanRecord

LICENSE = "LICENSE"
TEMPLATES = "package"
"""Folder of the runtime with what only differs by the model's name from package to package."""

_SECTION = '    .section .rodata.{symbol}, "a", %progbits'
_PORTABLE = "#define CM_PORTABLE 1 /* no assembly */\n"
_PLAN_HEADER = """\
/* {name}: its plan, for {name}.c. */
#ifndef {macro}_PLAN_H
#define {macro}_PLAN_H

#include "{name}.h"
#include "cmrt/program.h"

/* Whether it calls kernels that compute in float. */
#define {macro}_NEEDS_FLOAT {needs_float}

extern const struct cm_program {name}_program;

/* Whether {name}_init has bound a context. */
static inline bool {name}_is_ready(const struct {name} *model)
{{
    return model != NULL && model->program == &{name}_program;
}}

#endif
"""


@dataclass(frozen=True)
class PackagedModel:
    """The material of a package.

    Attributes:
        plan: folder of the emitted plan.
        needs_float: whether it calls kernels that compute in float.
        kernels: folder of the project's own kernels, if any.
        has_arrays: whether weights and test vectors are arrays in C, not files of bytes.
        notes: paragraphs for the header, on what it takes of a device.
    """

    interface: PackageInterface
    vectors: VectorData
    plan: Path
    needs_float: bool = False
    kernels: Path | None = None
    has_arrays: bool = False
    notes: tuple[str, ...] = ()

    @property
    def record(self) -> PlanRecord:
        return self.interface.plan

    @property
    def name(self) -> str:
        """Prefix of all symbols."""
        return self.record.model


def model_files(model: PackagedModel, section: str = _SECTION) -> dict[str, bytes]:
    """The model's own files by name, which include the runtime as `cmrt/`.

    Args:
        section: the directive that starts the section of the bytes {symbol}.
    """
    name = model.name
    words = {"name": name, "macro": name.upper(), "needs_float": int(model.needs_float)}
    plan = (model.plan / C_FILE).read_text("utf-8").replace('"model.h"', f'"{name}_plan.h"')
    sections = {key: section.format(symbol=f"{name}_{key}") for key in ("weights", "vector_bytes")}
    files = {
        f"{name}.h": model.interface.header(model.notes).encode(),
        f"{name}.c": model.interface.source().encode(),
        f"{name}_plan.h": _PLAN_HEADER.format(**words).encode(),
        f"{name}_plan.c": plan.encode(),
        f"{name}_weights.S": assembly(name, f"{name}_weights.bin", sections["weights"]).encode(),
        f"{name}_weights.bin": (model.plan / WEIGHTS).read_bytes(),
        **vector_files(model.record, model.vectors, sections["vector_bytes"]),
        "plan.json": (model.plan / RECORD).read_bytes(),
    }
    if model.has_arrays:
        for data, array in (("weights", "weights"), ("vectors", "vector_bytes")):
            del files[f"{name}_{data}.S"]
            content = files.pop(f"{name}_{data}.bin")
            files[f"{name}_{array}.c"] = byte_array(f"{name}_{array}", content).encode()
    return files


def zephyr_files(model: PackagedModel) -> dict[str, bytes]:
    """The files of a package for a build that has the runtime, by path.

    A project's own kernels carry the model's name, as several packages may bring them.
    """
    files = model_files(model, WEIGHTS_SECTION)
    if model.kernels is None:
        return files
    own = defined_functions(model.kernels)
    names = re.compile(rf"\b(?:{'|'.join(sorted(own))})\b")
    prefixed = f"{model.name}_\\g<0>"
    plan = f"{model.name}_plan.c"
    files[plan] = names.sub(prefixed, files[plan].decode()).encode()
    for file in sorted(path for path in model.kernels.rglob("*") if path.is_file()):
        content = names.sub(prefixed, file.read_text("utf-8"))
        files[f"{KERNELS}/{file.relative_to(model.kernels).as_posix()}"] = content.encode()
    return files


def source_files(model: PackagedModel) -> dict[str, bytes]:
    """The files of a package that needs nothing else, by path."""
    name, record, own = model.name, model.record, model_files(model)
    isa = Isa.named(record.isa)
    called = {step.kernel for step in record.steps if step.is_call}
    texts = [own[f"{name}.c"].decode()]
    sources = needed_sources(called, isa, model.kernels, texts, record.has_runs)
    kernels = model.kernels
    places = {
        file: f"{'runtime' if kernels is None or not file.is_relative_to(kernels) else KERNELS}/"
        f"{_file_name(file, name)}"
        for file in sources
    }
    headers = paths.runtime() / "include"
    public = {
        file.relative_to(headers).as_posix(): place
        for file, place in places.items()
        if file.suffix == ".h" and file.is_relative_to(headers)
    }
    files: dict[str, bytes] = {}
    for path, content in own.items():
        files[path] = content
        if path.endswith((".c", ".h")):
            text = content.decode()
            for header, place in public.items():
                text = text.replace(f'#include "{header}"', f'#include "{place}"')
            files[path] = renamed(text, name).encode()
    for file, place in places.items():
        text = with_prototypes(file.read_text("utf-8"))
        if not place.startswith(f"{KERNELS}/"):
            text = with_own_references(text, file, places)
        if model.has_arrays and isa is Isa.SCALAR and place.endswith(".c"):
            text = f"{_PORTABLE}{text}"
        files[place] = renamed(placed(text, file, places), name).encode()
    runtime = paths.runtime()
    options = (runtime / "cmake" / "float.cmake").read_text("utf-8")
    files[f"runtime/{name}_cm_float.cmake"] = renamed(options, name).encode()
    compiled = [place for place in places.values() if place.endswith(".c")]
    data = [path for path in files if path.startswith((f"{name}_weights.", f"{name}_vector"))]
    lists = fill(
        runtime / TEMPLATES / "CMakeLists.txt.j2",
        {
            "name": name,
            "macro": name.upper(),
            "has_arrays": model.has_arrays,
            "sources": compiled,
            "data": sorted(
                path for path in data if path.endswith((".S", "_weights.c", "_bytes.c"))
            ),
        },
    )
    files["CMakeLists.txt"] = lists.encode()
    files[LICENSE] = (paths.data() / LICENSE).read_bytes()
    return files


def _file_name(file: Path, name: str) -> str:
    """kernels/add.c is NAME_cm_add.c, isa/mve/gemm_s8.c is NAME_cm_mve_gemm_s8.c, and
    cmrt/args/linear.h is NAME_cm_args_linear.h.
    """
    is_part = file.parent.parent.name == "isa" or file.parent.name == "args"
    part = f"{file.parent.name}_" if is_part else ""
    return f"{name}_cm_{part}{file.name}"
