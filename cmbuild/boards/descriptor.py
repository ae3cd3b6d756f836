"""board.toml: what a board's folder says of it, read strictly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from cmbuild.boards.board import Board, Layout, Memory, Region
from cmbuild.boards.link_script import FILE as LINK_SCRIPT
from cmbuild.boards.link_script import disagreement
from cmbuild.hardware.bootloader import Bootloader
from cmbuild.hardware.method import Flashing, Method
from cmbuild.hardware.probes import OpenOcd, Picotool, ProbeRs, PyOcd
from cmbuild.image.products import Uf2Format
from cmbuild.launchers.base import Launcher
from cmbuild.launchers.emulator import CORES
from cmbuild.launchers.fvp import Fvp
from cmbuild.launchers.native import Native
from cmbuild.launchers.qemu import Qemu
from cmbuild.launchers.serial import SerialLine
from cmbuild.launchers.unicorn import Unicorn
from cmbuild.strictfile import Inconsistent, Table, read
from cmbuild.toolchain.toolchains import TOOLCHAINS, fpus
from cmcompiler.isa import Isa
from cmcompiler.suggest import did_you_mean
from cmcompiler.target import BEST_ISA

FILE = "board.toml"

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_ADDRESSES = 1 << 32
_STACK_ALIGNMENT = 8  # Procedure Call Standard for the Arm Architecture, "Stack constraints"
_LOADED = ("code", "constants")  # sections that are in an image's file
_LINKER_WORDS = ("l", "len", "o", "org")  # what LENGTH and ORIGIN are also called in MEMORY


def parse_size(text: str) -> int:
    """`512K` in bytes.

    Raises:
        ValueError: it is no size.
    """
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if match is None:
        raise ValueError(f'{text!r} is no size like 4096, "512K" or "8M"')
    return int(match[1]) * _UNITS[match[2]]


def _size(value: object) -> object:
    """`512K` in bytes; numbers as they are."""
    return parse_size(value) if isinstance(value, str) else value


Size = Annotated[int, BeforeValidator(_size), Field(gt=0, le=_ADDRESSES)]
Address = Annotated[int, Field(ge=0, lt=_ADDRESSES)]


class RegionFile(Table):
    """[memory.<name>]"""

    kind: Annotated[Memory, Field(strict=False)]
    origin: Address
    size: Size


class SectionsFile(Table):
    """[sections]: names of the regions that the parts of an image go to."""

    code: str
    constants: str
    data: str
    arena: str
    workspace: str | None = None
    hot: str | None = None


class FvpFile(Table):
    """[launchers.fvp]: one of Arm's Fixed Virtual Platforms.

    Attributes:
        executable: its file name.
        cpu: prefix of the core's parameters.
        board: prefix of the board's parameters.
        parameters: others that it needs, by their whole names.
    """

    executable: str
    cpu: str
    board: str
    parameters: dict[str, int] = Field(default_factory=dict)


class QemuFile(Table):
    """[launchers.qemu]

    Attributes:
        machine: QEMU's name of the board.
        ticks_per_second: frequency of the clock that the board's cm_board_ticks reads.
        properties: of QEMU's devices, by `device.property`.
        boots: how the image is started.
        caveat: how the machine differs from the board.
    """

    machine: str
    ticks_per_second: Annotated[int, Field(gt=0)]
    properties: dict[str, int] = Field(default_factory=dict)
    boots: Literal["vectors", "entry"] = "vectors"
    caveat: str | None = None


class UnicornFile(Table):
    """[launchers.unicorn]

    Attributes:
        peripherals: addresses of registers that the board's code uses, as plain memory.
    """

    peripherals: list[Address] = Field(default_factory=list)


class NativeFile(Table):
    """[launchers.native]: the image is a program for this computer."""


class LaunchersFile(Table):
    fvp: FvpFile | None = None
    qemu: QemuFile | None = None
    unicorn: UnicornFile | None = None
    native: NativeFile | None = None


class SerialFile(Table):
    """[serial]: the line that the runner of a real board talks over.

    Attributes:
        baud: bits a second.
        usb: vendor and product of adapters that the board is likely to be at: `2e8a:000c`.
    """

    baud: Annotated[int, Field(ge=300, le=4_000_000)]
    usb: list[Annotated[str, Field(pattern="^[0-9a-f]{4}:[0-9a-f]{4}$")]] = Field(
        default_factory=list
    )


class Uf2File(Table):
    """[flash.uf2]: a boot loader that takes UF2 files.

    Attributes:
        family: that the blocks are marked with.
        volume: label of the boot loader's volume.
        board_id: that INFO_UF2.TXT on the volume gives.
        ignored_block: address of a first block that the board ignores.
    """

    family: Address
    volume: str
    board_id: str
    ignored_block: Address | None = None


class PicotoolFile(Table):
    """[flash.picotool]"""


class ProbeRsFile(Table):
    """[flash.probe-rs]

    Attributes:
        chip: its name of the device.
    """

    chip: str


class PyOcdFile(Table):
    """[flash.pyocd]

    Attributes:
        target: its name of the device.
    """

    target: str


class OpenOcdFile(Table):
    """[flash.openocd]

    Attributes:
        configurations: files of its own that describe probe and device.
    """

    configurations: Annotated[list[str], Field(min_length=1)]


class FlashFile(Table):
    """[flash]: ways to get firmware onto a real board, the preferred one first."""

    uf2: Uf2File | None = None
    picotool: PicotoolFile | None = None
    probe_rs: Annotated[ProbeRsFile | None, Field(alias="probe-rs")] = None
    pyocd: PyOcdFile | None = None
    openocd: OpenOcdFile | None = None


class BoardFile(Table):
    """The whole file."""

    title: str
    cpu: str
    fpu: str | None = None
    isas: list[str] | None = None
    toolchain: str = "gcc"
    stack: Size | None = None
    memory: dict[str, RegionFile] = Field(default_factory=dict)
    sections: SectionsFile | None = None
    launchers: LaunchersFile = LaunchersFile()
    serial: SerialFile | None = None
    flash: FlashFile | None = None


def read_board(folder: Path) -> Board:
    """The board of a folder.

    Raises:
        BrokenFile: naming file, line and key.
    """
    return read(folder / FILE, BoardFile, partial(_board, folder))


def _board(folder: Path, file: BoardFile) -> Board:
    best = BEST_ISA.get(file.cpu)
    if best is None:
        hint = did_you_mean(file.cpu, BEST_ISA)
        raise Inconsistent(("cpu",), f"no such core: {file.cpu!r}", hint)
    regions = {
        name: Region(name, region.kind, region.origin, region.size)
        for name, region in file.memory.items()
    }
    _check_regions(regions)
    if file.sections is not None:
        _check_sections(file.sections, regions)
        if file.stack is None:
            raise Inconsistent(("stack",), "missing")
        if file.stack % _STACK_ALIGNMENT:
            raise Inconsistent(("stack",), f"is no multiple of {_STACK_ALIGNMENT} bytes")
        if file.stack > regions[file.sections.data].size:
            raise Inconsistent(("stack",), f"does not fit into memory.{file.sections.data}")
        _check_script(folder / LINK_SCRIPT, regions)
    elif regions:
        raise Inconsistent(("sections",), "missing")
    if file.fpu is not None and file.fpu not in (known := fpus(file.cpu)):
        raise Inconsistent(
            ("fpu",), f"{file.cpu} has no fpu {file.fpu!r}", did_you_mean(file.fpu, known)
        )
    if file.toolchain not in TOOLCHAINS:
        hint = did_you_mean(file.toolchain, TOOLCHAINS)
        raise Inconsistent(("toolchain",), f"no such toolchain: {file.toolchain!r}", hint)
    layout = None if file.sections is None else Layout(**file.sections.model_dump())
    return Board(
        name=folder.name,
        folder=folder,
        title=file.title,
        cpu=file.cpu,
        fpu=file.fpu,
        isas=tuple(_isas(file, best)),
        toolchain=file.toolchain,
        stack=file.stack or 0,
        regions=regions,
        layout=layout,
        launchers=tuple(_launchers(file.launchers, file.cpu, regions)),
        serial=None if file.serial is None else _serial(file.serial),
        flash=None if file.flash is None else _flashing(file.flash),
    )


def _launchers(file: LaunchersFile, cpu: str, regions: Mapping[str, Region]) -> Iterator[Launcher]:
    if file.fvp is not None:
        yield Fvp(**file.fvp.model_dump())
    if file.qemu is not None:
        yield Qemu(**file.qemu.model_dump())
    if file.unicorn is not None:
        if cpu not in CORES:
            raise Inconsistent(("launchers", "unicorn"), f"Unicorn has no {cpu}")
        yield Unicorn(cpu, tuple(regions.values()), tuple(file.unicorn.peripherals))
    if file.native is not None:
        yield Native()


def _serial(file: SerialFile) -> SerialLine:
    return SerialLine(file.baud, tuple(file.usb))


def _flashing(file: FlashFile) -> Flashing:
    form = None
    methods: list[Method] = []
    if file.uf2 is not None:
        form = Uf2Format(file.uf2.family, file.uf2.ignored_block)
        methods.append(Bootloader(file.uf2.volume, file.uf2.board_id, form))
    if file.picotool is not None:
        methods.append(Picotool())
    if file.probe_rs is not None:
        methods.append(ProbeRs(file.probe_rs.chip))
    if file.pyocd is not None:
        methods.append(PyOcd(file.pyocd.target))
    if file.openocd is not None:
        methods.append(OpenOcd(tuple(file.openocd.configurations)))
    if not methods:
        raise Inconsistent(("flash",), "names no way to flash")
    return Flashing({method.name: method for method in methods}, form)


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
            raise Inconsistent(("isas",), f"no such instruction set: {name!r}", hint)
        if Isa.named(name) > best:
            raise Inconsistent(("isas",), f"{file.cpu} has no {name}")
        levels.add(Isa.named(name))
    yield from sorted(levels, reverse=True)


def _check_regions(regions: dict[str, Region]) -> None:
    seen: list[Region] = []
    for region in regions.values():
        key = ("memory", region.name)
        if not re.fullmatch(r"[a-z][a-z0-9_]*", region.name):
            raise Inconsistent(key, "a region's name has lower-case letters, digits and _ only")
        if region.name in _LINKER_WORDS:
            raise Inconsistent(key, "is a word of linkers, not a name for a region")
        if region.end > _ADDRESSES:
            raise Inconsistent(key, "ends beyond the 4 GiB of addresses")
        for other in seen:
            if region.overlaps(other):
                raise Inconsistent(key, f"overlaps memory.{other.name}")
        seen.append(region)


def _check_script(script: Path, regions: dict[str, Region]) -> None:
    if script.is_file() and (found := disagreement(script.read_text(), regions)) is not None:
        raise Inconsistent(("memory", found[0]), found[1])


def _check_sections(sections: SectionsFile, regions: dict[str, Region]) -> None:
    for key, name in sections.model_dump().items():
        if name is not None and name not in regions:
            hint = did_you_mean(name, regions)
            raise Inconsistent(("sections", key), f"no such memory: {name!r}", hint)
        kind = Memory.FLASH if key in _LOADED else Memory.RAM
        if name is not None and regions[name].kind is not kind:
            raise Inconsistent(("sections", key), f"memory.{name} is no {kind.value}")
