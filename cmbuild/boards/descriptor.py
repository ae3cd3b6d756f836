"""board.toml: a board's description, read strictly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, create_model

from cmbuild.boards.board import Board, BoardTable, Uart
from cmbuild.boards.link_script import FILE as LINK_SCRIPT
from cmbuild.boards.link_script import disagreement
from cmbuild.boards.memory import Layout, Memory, Region
from cmbuild.boards.registry import FILE
from cmbuild.strictfile import Inconsistent, Table, read
from cmbuild.toolchain.toolchains import DEFAULT, TOOLCHAINS, fpus
from cmcompiler.isa import Isa
from cmcompiler.suggest import did_you_mean
from cmcompiler.target import BEST_ISA

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_ADDRESSES = 1 << 32
_STACK_ALIGNMENT = 8  # Procedure Call Standard for the Arm Architecture, "Stack constraints"
_LOADED = ("code", "constants")  # sections with content in an image's file
_LINKER_WORDS = ("l", "len", "o", "org")  # other names of LENGTH and ORIGIN in MEMORY


def parse_size(text: str | int) -> int:
    """`512K` in bytes; numbers unchanged.

    Raises:
        ValueError: the text is not a size.
    """
    if not isinstance(text, str):
        return text
    match = re.fullmatch(r"(\d{1,15})([KMG]?)", text)
    if match is None:
        raise ValueError(f'{text!r} is not a size like 4096, "512K" or "8M"')
    return int(match[1]) * _UNITS[match[2]]


Size = Annotated[int, BeforeValidator(parse_size), Field(gt=0, le=_ADDRESSES)]
Address = Annotated[int, Field(ge=0, lt=_ADDRESSES)]


class RegionFile(Table):
    """[memory.<name>]"""

    kind: Annotated[Memory, Field(strict=False)]
    origin: Address
    size: Size


class BoardFile(Table):
    """The whole file."""

    title: str
    note: str | None = None
    cpu: str
    fpu: str | None = None
    isas: list[str] | None = None
    toolchain: str = DEFAULT
    stack: Size | None = None
    memory: dict[str, RegionFile] = Field(default_factory=dict)
    sections: Layout | None = None
    serial: Uart | None = None


def read_board(folder: Path, tables: Mapping[str, type[BoardTable]]) -> Board:
    """The board of a folder.

    Args:
        tables: further tables that the file may have, by key.

    Raises:
        BrokenFile: naming file, line and key.
    """
    fields: dict[str, Any] = {key: (table | None, None) for key, table in tables.items()}
    whole = create_model(BoardFile.__name__, __base__=BoardFile, **fields)
    return read(folder / FILE, whole, partial(_board, folder, tuple(tables)))


def _board(folder: Path, keys: Sequence[str], file: BoardFile) -> Board:
    best = BEST_ISA.get(file.cpu)
    if best is None:
        hint = did_you_mean(file.cpu, BEST_ISA)
        raise Inconsistent(("cpu",), f"unknown core: {file.cpu!r}", hint)
    regions = {
        name: Region(name, region.kind, region.origin, region.size)
        for name, region in file.memory.items()
    }
    _check_regions(regions)
    if file.sections is not None:
        _check_sections(file.sections, regions)
        _check_stack(file.stack, file.sections, regions)
        _check_script(folder / LINK_SCRIPT, regions)
    elif regions:
        raise Inconsistent(("sections",), "missing")
    if file.fpu is not None and file.fpu not in (known := fpus(file.cpu)):
        raise Inconsistent(
            ("fpu",), f"{file.cpu} does not have fpu {file.fpu!r}", did_you_mean(file.fpu, known)
        )
    if file.toolchain not in TOOLCHAINS:
        hint = did_you_mean(file.toolchain, TOOLCHAINS)
        raise Inconsistent(("toolchain",), f"unknown toolchain: {file.toolchain!r}", hint)
    tables = {key: table for key in keys if (table := getattr(file, key)) is not None}
    board = Board(
        name=folder.name,
        folder=folder,
        title=file.title,
        note=file.note,
        cpu=file.cpu,
        fpu=file.fpu,
        isas=tuple(_isas(file, best)),
        toolchain=file.toolchain,
        stack=0 if file.sections is None else file.stack,
        regions=regions,
        layout=file.sections,
        uart=file.serial,
        tables=tables,
    )
    for key, table in tables.items():
        try:
            table.check(board)
        except Inconsistent as error:
            raise Inconsistent((key, *error.key), str(error), error.hint) from error
    return board


def _isas(file: BoardFile, best: Isa) -> Iterator[Isa]:
    if file.isas is None:
        yield from (isa for isa in sorted(Isa, reverse=True) if isa <= best)
        return
    if not file.isas:
        raise Inconsistent(("isas",), "is empty")
    levels = set()
    for name in file.isas:
        if name not in (isa.label for isa in Isa):
            hint = did_you_mean(name, [isa.label for isa in Isa])
            raise Inconsistent(("isas",), f"unknown instruction set: {name!r}", hint)
        if Isa.named(name) > best:
            raise Inconsistent(("isas",), f"{file.cpu} has no {name}")
        levels.add(Isa.named(name))
    yield from sorted(levels, reverse=True)


def _check_regions(regions: dict[str, Region]) -> None:
    seen: list[Region] = []
    for region in regions.values():
        key = ("memory", region.name)
        if not re.fullmatch(r"[a-z][a-z0-9_]*", region.name):
            raise Inconsistent(key, "use lower-case letters, digits and _ for a region's name")
        if region.name in _LINKER_WORDS:
            raise Inconsistent(key, "is reserved by linkers; choose another name for the region")
        if region.end > _ADDRESSES:
            raise Inconsistent(key, "ends beyond the 4 GiB of addresses")
        for other in seen:
            if region.overlaps(other):
                raise Inconsistent(key, f"overlaps memory.{other.name}")
        seen.append(region)


def _check_script(script: Path, regions: dict[str, Region]) -> None:
    if not script.is_file():
        return
    if (conflict := disagreement(script.read_text("utf-8", "replace"), regions)) is not None:
        raise Inconsistent(("memory", conflict[0]), conflict[1])


def _check_stack(stack: int | None, sections: Layout, regions: Mapping[str, Region]) -> None:
    if stack is None:
        return
    if stack % _STACK_ALIGNMENT:
        raise Inconsistent(("stack",), f"is not a multiple of {_STACK_ALIGNMENT} bytes")
    if stack > regions[sections.data].size:
        raise Inconsistent(("stack",), f"does not fit in memory.{sections.data}")


def _check_sections(sections: Layout, regions: dict[str, Region]) -> None:
    for key, name in sections.model_dump().items():
        if name is not None and name not in regions:
            hint = did_you_mean(name, regions)
            raise Inconsistent(("sections", key), f"unknown memory: {name!r}", hint)
        kind = Memory.FLASH if key in _LOADED else Memory.RAM
        if name is not None and regions[name].kind is not kind:
            raise Inconsistent(("sections", key), f"memory.{name} is not {kind.value}")
    if sections.hot is not None and sections.hot_kernels is not None:
        raise Inconsistent(("sections", "hot"), "hot_kernels has what hot would have")
    if sections.hot_constants not in (None, sections.data):
        raise Inconsistent(("sections", "hot_constants"), f"expected that of data, {sections.data}")
    if sections.hot_constants is not None and sections.constants != sections.code:
        problem = "only constants beside the code can be copied"
        raise Inconsistent(("sections", "hot_constants"), problem)
