"""The table of chips: thousands of them, from chips.tsv, which scripts/chips.py writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from cmbuild.boards.descriptor import parse_size
from cmbuild.boards.memory import Memory, Region
from cmbuild.chips.chip import Chip, ram
from cmbuild.errors import UsageError

FILE = Path(__file__).with_name("chips.tsv")

HEADER = "# {source}\tcore\tfpu\tflash\tram, the largest first"
"""First line of the file: where its facts come from, and the columns."""

EXTERNAL = "external"
"""Size of a flash that is a chip of its own."""

_FPUS = {"": None, "-": "none"}
_MOST_NAMED = 6
_PACKAGE = re.compile("[a-z]x[a-z]?$")
"""The end of ST's package names, the `Tx` of STM32F411RETx: the table has others apart."""

_FAMILY = len("nRF52")
"""Letters of a name that begins those of a family; fewer are another word."""


class UnknownChip(UsageError):
    template = "unknown chip {name!r}"
    hint = "`cmbuild chips PATTERN` finds chips, such as stm32f4* or nrf52"


class AmbiguousChip(UsageError):
    template = "{name!r} is the beginning of {count} chips that differ"
    hint = "name one: {names}; `cmbuild chips {name}*` lists them"


@cache
def chips() -> Mapping[str, Chip]:
    """All chips by name in lower case, sorted by name."""
    rows = (line.split("\t") for line in FILE.read_text().splitlines()[1:])
    return {row[0].lower(): _chip(*row) for row in rows}


def source() -> str:
    """The release of the collection that the facts come from."""
    with FILE.open() as lines:
        return lines.readline().split("\t")[0].removeprefix("# ")


def find_chip(name: str) -> Chip:
    """A chip by its name in any case; a package's suffix may follow or lack: `STM32F411RETx`.

    Raises:
        AmbiguousChip: chips that begin so differ in core or memory.
        UnknownChip.
    """
    known, wanted = chips(), name.lower()
    if wanted in known:
        return known[wanted]
    if (plain := _PACKAGE.sub("", wanted)) in known:
        return known[plain]
    is_family = len(wanted) >= _FAMILY
    begun = [chip for key, chip in known.items() if is_family and key.startswith(wanted)]
    if begun:
        if len({chip.facts for chip in begun}) > 1:
            names = ", ".join(chip.name for chip in begun[:_MOST_NAMED])
            dots = ", …" if len(begun) > _MOST_NAMED else ""
            raise AmbiguousChip(name=name, count=len(begun), names=names + dots)
        return begun[0]
    # Names of packages are a few letters longer.
    for key in sorted(known, key=len, reverse=True):
        if wanted.startswith(key) and len(wanted) - len(key) <= len("TxQ"):
            return known[key]
    raise UnknownChip(name=name)


def matching(pattern: str) -> Iterator[Chip]:
    """Chips whose name fits a pattern with `*` and `?`, or contains one without."""
    wanted = pattern.lower()
    if not set(wanted) & set("*?["):
        wanted = f"*{wanted}*"
    return (chip for name, chip in chips().items() if fnmatchcase(name, wanted))


def _chip(name: str, cpu: str, fpu: str, flash: str, *rams: str) -> Chip:
    return Chip(
        name,
        cpu,
        _FPUS.get(fpu, fpu),
        Region("flash", Memory.FLASH, *_block(flash)),
        tuple(ram(number, *_block(text)) for number, text in enumerate(rams, 1)),
    )


def _block(text: str) -> tuple[int, int]:
    origin, _, size = text.partition(":")
    return int(origin, 16), 0 if size == EXTERNAL else parse_size(size)
