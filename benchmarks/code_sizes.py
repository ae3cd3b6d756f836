"""Makes cmbuild/sizing/code.json: what each kernel adds to an image, on each core.

    python benchmarks/code_sizes.py

It builds the libraries with arm-none-eabi-gcc, and reads the sections of their objects and what
each of them refers to. Sections that the same functions need are one part, with a size on each
core. `cmbuild fit` states code sizes from that where no library has been built. Run it when
tests/cmbuild/sizing/test_sections.py says that the table is out of date.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from cmbuild import paths
from cmbuild.pipeline.callback import Callback
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.session import Session
from cmbuild.sizing.sections import CODE, CodePart, CodeTable, SectionKind
from cmbuild.tasks.run import run
from cmbuild.toolchain.toolchains import cpu_flags
from cmcompiler.target import Target

CPUS = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")

PARTS_OF_KERNELS = ("cm_isa_", "cm_dsp_", "cm_mve_")
"""How the names of microkernels and their helpers begin, which nothing else calls."""

Row = tuple[SectionKind, int, list[int]]


def main() -> int:
    with Session(Callback(None), paths.default_build() / "logs") as session:
        pipeline = Pipeline(session.context)
        libraries = [pipeline.library(Target.parse(cpu), "gcc") for cpu in CPUS]
        run(session, libraries, [])
    if session.failures.first is not None:
        raise session.failures.first
    needed: dict[tuple[SectionKind, frozenset[str]], list[int]] = {}
    for place, library in enumerate(libraries):
        flags = cpu_flags("gcc", library.target)
        functions, rows = sections_of([library.archive, *compilers(flags)])
        for (kind, size, _), users in zip(rows, users_of(functions, rows), strict=True):
            if users:
                needed.setdefault((kind, users), [0] * len(CPUS))[place] += size
    compiler = libraries[0].toolchain
    table = CodeTable(
        provenance=f"{compiler.name} {compiler.version}",
        cores={cpu: library.target.isa.label for cpu, library in zip(CPUS, libraries, strict=True)},
        parts=[
            CodePart(kind=kind, sizes=needed[kind, users], users=users) for kind, users in needed
        ],
    )
    CODE.write_text(text(table))
    return 0


def text(table: CodeTable) -> str:
    """JSON with one part a line, sorted, so that a kernel that changes moves few lines."""
    document = table.model_dump(mode="json")
    parts = ({**part, "users": sorted(part["users"])} for part in document.pop("parts"))
    ordered = sorted(parts, key=lambda part: (part["users"], part["kind"]))
    lines = ",\n".join(json.dumps(part, separators=(",", ":")) for part in ordered)
    return f'{json.dumps(document)[:-1]}, "parts": [\n{lines}\n]}}\n'


def compilers(flags: Sequence[str]) -> Iterator[Path]:
    """The archives of the compiler that an image is linked with."""
    for name in ("m", "c_nano", "gcc"):
        asked = f"-print-file-name=lib{name}.a"
        words = ["arm-none-eabi-gcc", *flags, asked]
        yield Path(subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip())


def sections_of(archives: Sequence[Path]) -> tuple[dict[str, int], list[Row]]:
    """All sections that take memory, and those of the names that the first archive defines."""
    functions: dict[str, int] = {}
    own: dict[str, int] = {}
    rows: list[Row] = []
    wanted: list[tuple[int, str]] = []
    for archive in archives:
        with TemporaryDirectory() as folder:
            subprocess.run(["arm-none-eabi-ar", "x", archive], cwd=folder, check=True)
            for path in sorted(Path(folder).iterdir()):
                with path.open("rb") as file:
                    _read(ELFFile(file), functions, rows, wanted)
        own = own or dict(functions)
    for index, name in wanted:
        if name in functions:
            rows[index][2].append(functions[name])
    return own, rows


def _read(
    file: Any, functions: dict[str, int], rows: list[Row], wanted: list[tuple[int, str]]
) -> None:
    """Adds those of an object."""
    places: dict[int, int] = {}
    for number, section in enumerate(file.iter_sections()):
        if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_size"]:
            places[number] = len(rows)
            rows.append((_kind(section), section["sh_size"], []))
    symbols = list(file.get_section_by_name(".symtab").iter_symbols())
    for symbol in symbols:
        if symbol["st_info"]["bind"] != "STB_LOCAL" and symbol["st_shndx"] in places:
            functions.setdefault(symbol.name, places[symbol["st_shndx"]])
    for section in file.iter_sections():
        if section["sh_type"] not in ("SHT_REL", "SHT_RELA") or section["sh_info"] not in places:
            continue
        user = places[section["sh_info"]]
        for relocation in section.iter_relocations():
            symbol = symbols[relocation["r_info_sym"]]
            if symbol["st_shndx"] in places:
                rows[user][2].append(places[symbol["st_shndx"]])
            else:
                wanted.append((user, symbol.name))


def _kind(section: Any) -> SectionKind:
    if section["sh_flags"] & SH_FLAGS.SHF_WRITE:
        return SectionKind.ZEROS if section["sh_type"] == "SHT_NOBITS" else SectionKind.VALUES
    return SectionKind.HOT if section.name.startswith(".text.cm_isa_") else SectionKind.CODE


def users_of(functions: dict[str, int], rows: list[Row]) -> list[frozenset[str]]:
    """For each section the functions that lead to it, of those that a program, a board or the
    runtime may call: microkernels are parts of the kernels that use them.
    """
    users: list[set[str]] = [set() for _ in rows]
    for name, index in functions.items():
        if name.startswith("cm_") and not name.startswith(PARTS_OF_KERNELS):
            for place in _reached(index, rows):
                users[place].add(name)
    return [frozenset(names) for names in users]


def _reached(start: int, rows: list[Row]) -> set[int]:
    ahead, seen = [start], {start}
    while ahead:
        for other in set(rows[ahead.pop()][2]) - seen:
            seen.add(other)
            ahead.append(other)
    return seen


if __name__ == "__main__":
    sys.exit(main())
