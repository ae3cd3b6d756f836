#!/usr/bin/env python3
"""Gathers facts of chips from the crate probe-rs into cmbuild/chips/chips.tsv.

    cargo new facts && cd facts && cargo add probe-rs@0.32.0 && cargo fetch
    python scripts/chips.py ~/.cargo/registry/src/*/probe-rs-0.32.0

The crate says what memory a chip has, and the architecture of its core. Which core and which FPU
that is, the tables below say, family by family, as the vendors' data sheets do. Chips of a family
that no rule names, of other architectures, or without flash or RAM, are left out; the script says
how many and why.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cmbuild.boards.memory import text_of
from cmbuild.chips.table import EXTERNAL, FILE, HEADER

Row = tuple[str, ...]

CORES: tuple[tuple[str, str, str], ...] = (
    # family (of the file's name), or chip; core; FPU: "-" none, "" as much as the core can have
    (
        r"LPC8|HT32F0|HT32F5\d|HT32F61|HT32F65|HT50|EFM32(HG|TG11)|STM32(C0|G0|L0|U0|WB0)",
        "m0plus",
        "-",
    ),
    (r"SAM(D1|D21|DA1|_L)|MSPM0|RP2040|PY32|CW32L|CIU32|HC32F005|AIR001|CC23", "m0plus", "-"),
    (r"STM32F0|nRF51|HK32F030|PAC52|VA108|W7500", "m0", "-"),
    (r"ADuCM302|AIR32F1|CH32F1|FM3|GD32F1|HT32F1|LM3S|SAM3|STM32(F1|F2|L1)|TLE98", "m3", "-"),
    # Cortex-M7: RM0385 and RM0431 (single), RM0410, RM0433 (double)
    (r"STM32F7(2|3|4|5)\d", "m7", "single"),
    (r"STM32F7[67]\d|STM32H7", "m7", "double"),
    (r"SAM(E7|V7)|MIMXRT10|MIMXRT11[67]", "m7", "double"),
    (r"S32K3", "m7", "single"),
    # Cortex-M4 without FPU
    (r"nRF528(05|10|11)_|STM32WL|ATSAM4[SNLC]|AT32(F415|F421|F425|WB415)", "m4", "-"),
    # Cortex-M4F
    (
        r"STM32(F3|F4|G4|L4|WB_|WB\d\d[CMV])|nRF52|GD32(C1|E10|F30|F3x|F4)|EF[MR]32\w+1[1-4]?[BPV]",
        "m4",
        "",
    ),
    (
        r"AT32|LPC54|MAX3266|MEC17|MSP432|PAC55|PIC32CXSG|PSOC6|RA4M1|RA4W1|RA6M[123]_|RA6T1",
        "m4",
        "",
    ),
    (r"S32K14|ATSAM4E|SAMG|SAM(D51|E5)|Tiva|VA416|XMC4|CC13", "m4", ""),
    # Armv8-M Baseline
    (r"GD32E23|RA0|RA2", "m23", "-"),
    # Armv8-M Mainline
    (
        r"STM32(H5|L5|U3|U5|WBA)|EF[MR]32\w+2\d|GD32E50|LPC55|MCXN|MIMXRT(5|6)|PSOC_C3|CC13",
        "m33",
        "",
    ),
    (r"RA4(C1|E|L1|M[23]|T1)|RA6(E|M[45]|T[23])|RP235x|nRF53|nRF54L|nRF91", "m33", ""),
    (r"STM32N6|PSOC_E84", "m55", ""),
    (r"RA8", "m85", ""),
)

ARCHITECTURES = {
    "armv6m": ("m0", "m0plus"),
    "armv7m": ("m3",),
    "armv7em": ("m4", "m7"),
    "armv8m": ("m23", "m33", "m55", "m85"),
}

DOUBTFUL = r"_riscv|_SELFDEBUG|_dual$|_RAM$|^AT32L021"
"""Other views of a chip, and chips whose core the crate has wrong."""

EXTERNAL_FAMILIES = r"RP2040|RP235x|MIMXRT|STM32N6|STM32H7RS"
"""Families whose flash is a chip of its own, so that its size is the board's."""


@dataclass(frozen=True)
class Block:
    """Memory of a chip."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.start:#x}:{text_of(self.size)}"


def joined(blocks: list[Block]) -> list[Block]:
    """Blocks without those inside others; neighbours are one."""
    merged: list[Block] = []
    for block in sorted(blocks, key=lambda block: (block.start, -block.end)):
        if merged and block.start <= merged[-1].end:
            merged[-1] = Block(merged[-1].start, max(merged[-1].end, block.end))
        else:
            merged.append(block)
    return merged


def without_aliases(blocks: list[Block]) -> list[Block]:
    """The largest blocks first, the one in the SRAM region (0x2000_0000) first of equal ones.

    Drops blocks that show another one's memory: at the same place of another 256 MB with TrustZone
    (Armv8-M IDAU regions), or in the code region with the same size.
    """
    kept: list[Block] = []
    for block in sorted(blocks, key=lambda block: (-block.size, block.start >> 28 != 2)):
        if not any(is_alias(block, other) for other in kept):
            kept.append(block)
    return kept


def is_alias(block: Block, other: Block) -> bool:
    same_place = block.start ^ other.start == 1 << 28
    is_code = block.start < 0x1000_0000 <= other.start and block.start >= 0x80_0000
    return block.size == other.size and (same_place or is_code)


def core_of(family: str, chip: str, architecture: str) -> tuple[str, str] | None:
    """Core and FPU, of the first rule for the chip or its family that fits the architecture."""
    for pattern, core, fpu in CORES:
        if core in ARCHITECTURES[architecture] and any(
            re.match(pattern, name) for name in (chip, family)
        ):
            return f"cortex-{core}", fpu
    return None


def row(family: str, variant: dict[str, Any]) -> Row | str:
    """The line of a chip, or why it has none."""
    name = variant["name"]
    if re.search(DOUBTFUL, name):
        return "another view of a chip, or doubtful"
    cores = [core for core in variant["cores"] if core["type"] in ARCHITECTURES]
    if not cores:
        return "not a Cortex-M"
    # Of several cores the fastest: the Cortex-M4 beside an M0+, the M55 beside an M33.
    best = max(cores, key=lambda core: ("m55" in core["name"], core["type"] == "armv7em"))
    core = core_of(family, name, best["type"])
    if core is None:
        return f"no rule for {family}"
    flash, ram = [], []
    for region in variant["memory_map"]:
        reachable = region.get("cores") or [best["name"]]
        if best["name"] not in reachable:
            continue
        block = Block(int(region["range"]["start"]), int(region["range"]["end"]))
        if region["!"] == "Ram":
            ram.append(block)
        elif region["!"] == "Nvm" and not region.get("is_alias"):
            flash.append(block)
    flash, ram = joined(flash), without_aliases(joined(ram))
    if not flash or not ram:
        return "no flash or no RAM"
    boot = max(flash, key=lambda block: block.size)
    place = f"{boot.start:#x}:{EXTERNAL}" if re.match(EXTERNAL_FAMILIES, family) else str(boot)
    return name, *core, place, *map(str, ram)


def chips(crate: Path) -> Iterator[tuple[str, Row | str]]:
    for path in sorted((crate / "targets").glob("*.y*ml")):
        family = path.stem
        for variant in yaml.load(path.read_text(), Loader)["variants"]:
            yield variant["name"], row(family, variant)


class Loader(yaml.CSafeLoader):
    """Keeps the tag of a mapping under the key `!`."""


def _tagged(loader: Loader, tag: str, node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        return {**loader.construct_mapping(node, deep=True), "!": tag}
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


Loader.add_multi_constructor("!", _tagged)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("crate", type=Path, help="folder of the crate's source")
    arguments = parser.parse_args()
    rows, left_out = {}, Counter[str]()
    for name, line in chips(arguments.crate):
        if isinstance(line, str):
            left_out[line] += 1
        else:
            rows[name] = line
    lines = ["\t".join(line) for _, line in sorted(rows.items())]
    head = HEADER.format(source=arguments.crate.name)
    FILE.write_text("\n".join([head, *lines]) + "\n")
    print(f"{len(lines)} chips, {FILE.stat().st_size >> 10} KB")
    for reason, count in left_out.most_common():
        print(f"{count:5} left out: {reason}", file=sys.stderr)


if __name__ == "__main__":
    main()
