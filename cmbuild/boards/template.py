"""New boards: a folder ready to build, from a core and its memory."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from cmbuild.boards.descriptor import parse_size, read_board
from cmbuild.boards.memory import Memory, Region, text_of
from cmbuild.boards.registry import FILE
from cmbuild.errors import UsageError
from cmbuild.files import fill, write
from cmbuild.strictfile import BrokenFile
from cmcompiler.suggest import did_you_mean
from cmcompiler.target import BEST_ISA

SKELETON = Path(__file__).parent / "skeleton"

_MOST_HERTZ = 10**10
_NO_CYCLE_COUNTER = ("cortex-m0", "cortex-m0plus", "cortex-m23")
_ARMV6_M_INTERRUPTS, _INTERRUPTS = 32, 240  # the maximum of the architectures' NVICs


class Exists(UsageError):
    template = "{folder} already exists"
    hint = "choose another name, or --dir"


class BadName(UsageError):
    template = "{name!r} cannot be the name of a board"
    hint = "use lower-case letters, digits, _ and -"


class BadMemory(UsageError):
    template = "--{option} {text}: {problem}"
    hint = "expected ORIGIN:SIZE, such as 0x20000000:256K"


def parse_memory(kind: Memory, text: str) -> Region:
    """The region of a kind, from `0x20000000:256K`.

    Raises:
        BadMemory: the text is something else.
    """
    origin, _, size = text.partition(":")
    if not re.fullmatch(r"0x[0-9a-fA-F]{1,8}|\d{1,15}", origin):
        raise BadMemory(option=kind.value, text=text, problem=f"{origin!r} is not an address")
    try:
        return Region(
            kind.value, kind, int(origin, 16 if origin.startswith("0x") else 10), parse_size(size)
        )
    except ValueError as error:
        raise BadMemory(option=kind.value, text=text, problem=str(error)) from error


class BadClock(UsageError):
    template = "--clock {text}: not a frequency"
    hint = "expected hertz, such as 100M or 64_000_000"


def parse_hertz(text: str) -> int:
    """`100M` in hertz.

    Raises:
        BadClock: the text is something else.
    """
    match = re.fullmatch(r"(\d[\d_]{0,15})([kM]?)", text)
    hertz = 0 if match is None else int(match[1]) * {"": 1, "k": 10**3, "M": 10**6}[match[2]]
    if not 0 < hertz <= _MOST_HERTZ:
        raise BadClock(text=text)
    return hertz


def make_board(
    name: str,
    place: Path,
    *,
    cpu: str,
    fpu: str | None,
    flash: Region,
    ram: Region,
    others: Sequence[Region] = (),
    chip: str | None = None,
    hertz: int | None = None,
    launchers: str = "",
) -> Path:
    """Writes the folder <place>/<name>.

    Args:
        others: further RAM, which no section uses.
        chip: the name that probe programs know the chip by.
        hertz: of the core's clock.
        launchers: tables of board.toml for simulators.

    Raises:
        BadName, Exists, NotWritable.
        UsageError: an unknown core, or memory that board.toml does not allow.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
        raise BadName(name=name)
    if cpu not in BEST_ISA:
        raise UsageError(message=f"unknown core: {cpu!r}", hint=did_you_mean(cpu, BEST_ISA))
    folder = place / name
    if folder.exists():
        raise Exists(folder=folder)
    small = cpu in ("cortex-m0", "cortex-m0plus")
    values = {
        "name": name,
        "cpu": cpu,
        "fpu": fpu,
        "flash": flash,
        "ram": ram,
        "others": others,
        "chip": None,
        "hertz": None,
        "size": _size,
        "launchers": "",
        "interrupts": _ARMV6_M_INTERRUPTS if small else _INTERRUPTS,
        "counts_cycles": cpu not in _NO_CYCLE_COUNTER,
    }
    for source in sorted(SKELETON.glob("*.j2")):
        write(folder / source.stem, fill(source, values))
    try:
        read_board(folder, {})
    except BrokenFile as error:
        shutil.rmtree(folder)
        problem = error.message.partition(f"{FILE}:")[2].partition(" ")[2]
        raise UsageError(message=problem, hint=error.hint) from error
    # This package cannot read launchers, flash methods and clocks: the check above has none.
    values |= {"launchers": launchers, "chip": chip, "hertz": hertz}
    write(folder / FILE, fill(SKELETON / f"{FILE}.j2", values))
    return folder


def _size(size: int) -> str:
    """As board.toml has it: text if it has a unit."""
    text = text_of(size)
    return text if text.isdigit() else f'"{text}"'
