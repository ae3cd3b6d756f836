"""ELF images: sizes, places in memory, and symbols by address."""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import Section as ELFSection
    from elftools.elf.sections import Symbol

from cmbuild.errors import Failed


class NoVectors(Failed):
    template = "{image} does not have a section .vectors"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of an image.

    Attributes:
        weights: packed constants.
        code: everything else that is loaded.
        arena: activations.
        static: variables, the stack not counted.
        stack: reserved for the stack.
        hot: of the code, what is copied to RAM; counts in `static` too.
        copied: constants that are in flash a second time, and in RAM; count in nothing else.
    """

    weights: int
    code: int
    arena: int
    static: int
    stack: int
    hot: int = 0
    copied: int = 0


@dataclass(frozen=True, slots=True)
class Segment:
    """Memory that the image occupies: loaded at `physical`, used at `address`."""

    address: int
    physical: int
    size: int
    loaded: int


@dataclass(frozen=True, slots=True)
class Section:
    """A section that takes memory."""

    name: str
    address: int
    size: int
    is_loaded: bool
    is_writable: bool


def sections(image: Path) -> list[Section]:
    with _opened(image) as file:
        return list(_sections(file))


def sizes(image: Path) -> Sizes:
    """From the sections of runtime/cortexm/link.ld.j2; for a program for this computer, which
    has other sections, only weights and arena.
    """
    with _opened(image) as file:
        named = {section.name: section.size for section in _sections(file)}
        placed = dict(_variables(file))
    arena, copied = placed.get("cm_arena", 0), placed.get("cm_hot_constants", 0)
    weights = named.get(".weights", 0)
    if ".vectors" not in named:
        return Sizes(weights, 0, arena, 0, 0)
    variables = sum(named.get(name, 0) for name in (".hot", ".data", ".bss"))
    code = (".boot2", ".vectors", ".hot", ".text", ".rodata", ".data")
    loaded = sum(named.get(name, 0) for name in code)
    hot, stack = named.get(".hot", 0), named.get(".stack", 0)
    return Sizes(weights, loaded - copied, arena, variables - copied, stack, hot, copied)


def segments(image: Path) -> list[Segment]:
    """Its PT_LOAD segments."""
    with _opened(image) as file:
        return [
            Segment(s["p_vaddr"], s["p_paddr"], s["p_memsz"], s["p_filesz"])
            for s in file.iter_segments("PT_LOAD")
        ]


def loaded(image: Path) -> list[tuple[int, bytes]]:
    """Addresses and bytes of everything loaded."""
    with _opened(image) as file:
        return [
            (s["p_paddr"], s.data()) for s in file.iter_segments("PT_LOAD") if s["p_filesz"] > 0
        ]


def entry(image: Path) -> int:
    """Where execution begins."""
    with _opened(image) as file:
        address: int = file["e_entry"]
        return address


class Vectors(NamedTuple):
    """The two words that the core loads from the vector table at reset."""

    stack: int
    reset: int


def vectors(image: Path) -> Vectors:
    """Raises NoVectors if the table is missing or shorter than two words."""
    with _opened(image) as file:
        section = file.get_section_by_name(".vectors")
        data = b"" if section is None else section.data()
    if len(data) < 8:
        raise NoVectors(image=image)
    return Vectors(*struct.unpack_from("<2I", data))


def functions(image: Path) -> dict[str, int]:
    """Addresses of the functions defined in it, by name, without the Thumb bit."""
    with _opened(image) as file:
        return {name: address for address, _, name in _functions(file)}


@dataclass(frozen=True, slots=True)
class Function:
    """A function by its symbol; the end is the next one's start if the symbol states no size."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Code:
    """The machine code of an image.

    Attributes:
        functions: by address; of those that begin at the same, one.
        data: literals and tables between instructions: first addresses and ends.
        blocks: contents of sections by first address.
        vectors: the words of the vector table.
    """

    functions: tuple[Function, ...]
    data: Mapping[int, int]
    blocks: Mapping[int, bytes]
    vectors: tuple[int, ...]


def code(image: Path) -> Code:
    with _opened(image) as file:
        loaded = [s for s in file.iter_sections() if _is_loaded(s)]
        blocks = {s["sh_addr"]: s.data() for s in loaded if s.name != ".vectors"}
        table = b"".join(s.data() for s in loaded if s.name == ".vectors")
        labels, places = {}, {}
        for symbol in _symbols(file):
            kind, value = symbol["st_info"]["type"], symbol["st_value"]
            if symbol.name[:2] in ("$t", "$d"):
                places[value] = symbol.name[1] == "d"
            elif kind == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF":
                labels[value & ~1] = (symbol.name, symbol["st_size"])
    ends = sorted({*labels, *(start + len(content) for start, content in blocks.items())})
    functions = (
        Function(name, start, start + size if size else ends[bisect.bisect_right(ends, start)])
        for start, (name, size) in sorted(labels.items())
        if any(first <= start < first + len(block) for first, block in blocks.items())
    )
    marks = sorted(places)
    data = {
        mark: next((m for m in marks[i + 1 :] if not places[m]), 1 << 32)
        for i, mark in enumerate(marks)
        if places[mark]
    }
    words = struct.unpack(f"<{len(table) // 4}I", table[: len(table) & ~3])
    return Code(tuple(functions), data, blocks, words)


def _is_loaded(section: ELFSection) -> bool:
    from elftools.elf.constants import SH_FLAGS

    return bool(section["sh_flags"] & SH_FLAGS.SHF_ALLOC) and section["sh_type"] == "SHT_PROGBITS"


@dataclass(frozen=True, slots=True)
class Symbols:
    """Functions and source lines of an image, each ordered by address.

    Attributes:
        functions: address, size and name of each.
        lines: address, file and number of each.
    """

    functions: tuple[tuple[int, int, str], ...]
    lines: tuple[tuple[int, str, int], ...]

    @classmethod
    def read(cls, image: Path) -> Symbols:
        with _opened(image) as file:
            return cls(tuple(sorted(_functions(file))), tuple(_lines(file)))

    def describe(self, address: int) -> str | None:
        """`cm_copy (copy.c:31)`; None outside of functions."""
        address &= ~1
        name = self._function(address)
        if name is None:
            return None
        index = bisect.bisect_right(self.lines, address, key=itemgetter(0)) - 1
        _, file, line = self.lines[index] if index >= 0 else (0, "", 0)
        return f"{name} ({file}:{line})" if line else name

    def nearest(self, address: int) -> str | None:
        """`describe`, or else the function that begins last before the address: what is written in
        assembly may state no size.
        """
        index = bisect.bisect_right(self.functions, address & ~1, key=itemgetter(0)) - 1
        symbol = self.describe(address)
        return self.functions[index][2] if symbol is None and index >= 0 else symbol

    def _function(self, address: int) -> str | None:
        index = bisect.bisect_right(self.functions, address, key=itemgetter(0)) - 1
        if index < 0:
            return None
        start, size, name = self.functions[index]
        return name if address < start + max(size, 2) else None


@contextmanager
def _opened(image: Path) -> Iterator[ELFFile]:
    from elftools.elf.elffile import ELFFile

    with image.open("rb") as stream:
        yield ELFFile(stream)


def _sections(file: ELFFile) -> Iterator[Section]:
    from elftools.elf.constants import SH_FLAGS

    for section in file.iter_sections():
        flags = section["sh_flags"]
        if flags & SH_FLAGS.SHF_ALLOC:
            is_loaded = section["sh_type"] != "SHT_NOBITS"
            is_writable = bool(flags & SH_FLAGS.SHF_WRITE)
            yield Section(
                section.name, section["sh_addr"], section["sh_size"], is_loaded, is_writable
            )


def _functions(file: ELFFile) -> Iterator[tuple[int, int, str]]:
    for symbol in _symbols(file):
        if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF":
            yield symbol["st_value"] & ~1, symbol["st_size"], symbol.name


def _variables(file: ELFFile) -> Iterator[tuple[str, int]]:
    for symbol in _symbols(file):
        if symbol["st_info"]["type"] == "STT_OBJECT":
            yield symbol.name, symbol["st_size"]


def _symbols(file: ELFFile) -> Iterator[Symbol]:
    from elftools.elf.sections import SymbolTableSection

    table = file.get_section_by_name(".symtab")
    if isinstance(table, SymbolTableSection):
        yield from table.iter_symbols()


def _lines(file: ELFFile) -> list[tuple[int, str, int]]:
    if not file.has_dwarf_info():
        return []
    dwarf, lines = file.get_dwarf_info(), []
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        names, first = program["file_entry"], 0 if program["version"] >= 5 else 1
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            name = names[state.file - first].name.decode(errors="replace")
            line = 0 if state.end_sequence else state.line
            lines.append((state.address, PurePosixPath(name).name, line))
    # The line stated last for an address is its statement's; what ends is before.
    return sorted(lines, key=lambda row: (row[0], row[2] != 0))
