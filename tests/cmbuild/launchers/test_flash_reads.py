"""Reads of flash as the library counts them, by hand and in Unicorn."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest

from cmbuild.cycles.plugin import flash_reads
from cmbuild.cycles.profile import read_profile
from cmbuild.launchers.blocks import BlockCounter
from cmbuild.launchers.flash_reads import FlashReads
from cmbuild.process import Processes

unicorn = pytest.importorskip("unicorn")

FLASH, END = 0x1000, 0x2000
# Two lines of 16 bytes for code and one for constants; lines are read ahead.
CHIP = f"{FLASH}:{END}:16:1:0:32:0:16:0:0:0"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CMBUILD_CACHE", str(tmp_path_factory.mktemp("cache")))
        return flash_reads(Processes())


def counted(library: Path, chip: str, *accesses: tuple[int, int]) -> list[int]:
    """The counts of blocks (address, bytes) and of accesses (address, 0)."""
    counter = FlashReads(library, chip)
    calls = ctypes.CDLL(str(library))
    for address, size in accesses:
        if size:
            calls.flash_block(ctypes.c_uint64(address), size)
        else:
            calls.flash_access(ctypes.c_uint64(address))
    return [int(word) for word in counter.taken().split()[1:]]


# Lines entered, prefetched, missed; loads, missed, during a prefetch; cached RAM.
@pytest.mark.parametrize(
    ("accesses", "counts"),
    [
        ([(0x1000, 32)], [2, 1, 1, 0, 0, 0, 0]),
        ([(0x1000, 4), (0x1004, 12)], [1, 0, 1, 0, 0, 0, 0]),  # the line goes on
        ([(0x1000, 4), (0x1040, 4), (0x1000, 4)], [3, 0, 2, 0, 0, 0, 0]),  # a hit
        ([(0x1000, 4), (0x1040, 4), (0x1080, 4), (0x1000, 4)], [4, 0, 4, 0, 0, 0, 0]),
        ([(0x1100, 0), (0x1104, 0), (0x1110, 0), (0x1100, 0)], [0, 0, 0, 4, 3, 0, 0]),
        ([(0x1000, 4), (0x1100, 0), (0x1110, 0)], [1, 0, 1, 2, 2, 1, 0]),
        ([(0x3000, 64), (0x3000, 0)], [0] * 7),  # RAM
    ],
)
def test_lines_and_loads(library: Path, accesses: list[tuple[int, int]], counts: list[int]) -> None:
    assert counted(library, CHIP, *accesses) == counts


def test_a_shared_cache_holds_constants_beside_code(library: Path) -> None:
    shared = f"{FLASH}:{END}:16:0:1:32:0:0:0:0:0"
    # The constant evicts the older of two lines of code, and hits while it stays.
    accesses = [(0x1000, 4), (0x1010, 4), (0x1100, 0), (0x1104, 0), (0x1000, 4)]
    assert counted(library, shared, *accesses) == [3, 0, 3, 2, 1, 0, 0]


def test_ways_share_the_lines_of_a_set(library: Path) -> None:
    direct = f"{FLASH}:{END}:16:0:0:32:1:0:0:0:0"
    accesses = [(0x1000, 4), (0x1020, 4), (0x1000, 4), (0x1010, 4), (0x1000, 4)]
    assert counted(library, direct, *accesses)[:3] == [5, 0, 4]


def test_a_cache_for_constants_can_hold_ram_too(library: Path) -> None:
    cached = f"{FLASH}:{END}:16:0:0:32:0:16:0:{0x8000}:{0x9000}"
    # RAM evicts the constant; RAM elsewhere goes past the cache.
    accesses = [(0x1100, 0), (0x8000, 0), (0x8004, 0), (0x9000, 0), (0x1100, 0)]
    assert counted(library, cached, *accesses) == [0, 0, 0, 2, 2, 0, 1]


@pytest.mark.parametrize("chip", ["", "1:2", CHIP + ":9", CHIP.replace(":16:1", ":0:1")])
def test_another_text_is_refused(library: Path, chip: str) -> None:
    with pytest.raises(ValueError, match="not a flash"):
        FlashReads(library, chip)


START, MARK, LAST = 0x1000, 0x1010, 0x1020
# ldr r0, [pc, #24]; bl mark; bl last; bl last; b .; mark: bx lr; last: nop, bx lr
CODE = {
    START: (0x4806, 0xF000, 0xF805, 0xF000, 0xF80B, 0xF000, 0xF809, 0xE7FE),
    MARK: (0x4770,),
    LAST: (0xBF00, 0x4770),
}


def test_segments_in_unicorn_have_their_reads_and_the_hooks_go(
    library: Path, tmp_path: Path
) -> None:
    machine = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    machine.mem_map(START, 0x1000)
    for address, words in CODE.items():
        machine.mem_write(address, struct.pack(f"<{len(words)}H", *words))
    reads = FlashReads(library, CHIP)
    counter = BlockCounter(tmp_path / "blocks.txt", MARK, LAST, reads)
    counter.watch(machine)
    machine.emu_start(START | 1, START + 14)
    counter.finish()
    (segment,) = read_profile(tmp_path / "blocks.txt").flash
    assert (segment.lines, segment.prefetched, segment.code_misses) == (2, 1, 1)
    assert (segment.reads, segment.data_misses) == (1, 1)
    # From the second call of the last function on, nothing is counted.
    taken = reads.taken()
    machine.emu_start(START | 1, START + 14)
    assert taken != reads.taken() == "flash 0 0 0 0 0 0 0"
