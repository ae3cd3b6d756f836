"""Makes cmbuild/sizing/code.json: what each kernel adds to an image, on each core.

    python benchmarks/code_sizes.py

It builds the libraries with arm-none-eabi-gcc, and reads the sections of their objects and what
each of them refers to. `cmbuild fit` states code sizes from that where no library has been built.
Run it when tests/cmbuild/sizing/test_sections.py says that the table is out of date.
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
from cmbuild.sizing.sections import CODE, SectionKind
from cmbuild.tasks.run import run
from cmbuild.toolchain.toolchains import cpu_flags
from cmcompiler.target import Target

CPUS = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")

Row = tuple[str, int, list[int]]


def main() -> int:
    with Session(Callback(None), paths.default_build() / "logs") as session:
        pipeline = Pipeline(session.context)
        libraries = [pipeline.library(Target.parse(cpu), "gcc") for cpu in CPUS]
        run(session, libraries, [])
    if session.failures.first is not None:
        raise session.failures.first
    tables: dict[str, dict[str, Any]] = {}
    for cpu, library in zip(CPUS, libraries, strict=True):
        flags = cpu_flags("gcc", library.target)
        functions, rows = merged(*sections_of([library.archive, *compilers(flags)]))
        made = {"functions": functions, "sections": rows}
        tables.setdefault(library.target.isa.label, {})[cpu] = made
    compiler = libraries[0].toolchain
    table = {"provenance": f"{compiler.name} {compiler.version}", "libraries": tables}
    CODE.write_text(json.dumps(table, separators=(",", ":")).replace("],[", "],\n[") + "\n")
    return 0


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
            rows.append((_kind(section).value, section["sh_size"], []))
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


def merged(functions: dict[str, int], rows: list[Row]) -> tuple[dict[str, int], list[Row]]:
    """Functions and sections without those that no name leads to; one that only one other needs
    is merged into it.
    """
    rows = _reached(set(functions.values()), rows)
    users: dict[int, set[int]] = {index: set() for index in range(len(rows))}
    for index, (_, _, needed) in enumerate(rows):
        for other in set(needed) - {index}:
            users[other].add(index)
    named = set(functions.values())

    def host(index: int) -> int:
        while index not in named and len(users[index]) == 1:
            (user,) = users[index]
            if rows[user][0] != rows[index][0]:
                break
            index = user
        return index

    kept = [i for i in range(len(rows)) if host(i) == i and (i in named or users[i])]
    place = {index: number for number, index in enumerate(kept)}
    joined: list[Row] = [(rows[index][0], 0, []) for index in kept]
    for index, (kind, size, needed) in enumerate(rows):
        if (number := place.get(host(index))) is None:
            continue
        _, total, others = joined[number]
        others += _others(place, host, needed, number)
        joined[number] = (kind, total + size, sorted(set(others)))
    return {name: place[index] for name, index in sorted(functions.items())}, joined


def _reached(named: set[int], rows: list[Row]) -> list[Row]:
    """Sections that no name leads to need nothing, and so nobody."""
    ahead, seen = list(named), set(named)
    while ahead:
        for other in set(rows[ahead.pop()][2]) - seen:
            seen.add(other)
            ahead.append(other)
    return [row if i in seen else (row[0], row[1], []) for i, row in enumerate(rows)]


def _others(place: dict[int, int], host: Any, needed: list[int], own: int) -> Iterator[int]:
    return (place[host(other)] for other in needed if place[host(other)] != own)


if __name__ == "__main__":
    sys.exit(main())
