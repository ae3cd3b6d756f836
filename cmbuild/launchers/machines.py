"""The memory that QEMU's boards have, which may be more or less than a board's descriptor says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cmbuild.boards.board import Memory, Region

_K, _M = 1 << 10, 1 << 20

# QEMU's documentation of the boards, and `info mtree` of QEMU 7.2. Origin and size of what an image
# may be in; twice where a secure alias shows the same memory.
_MPS2 = ((0x0, 8 * _M), (0x2000_0000, 8 * _M))
_MEMORY: Mapping[str, Sequence[tuple[int, int]]] = {
    "mps2-an385": (*_MPS2, (0x0100_0000, 64 * _K), (0x2100_0000, 16 * _M)),
    "mps2-an386": (*_MPS2, (0x0100_0000, 64 * _K), (0x2100_0000, 16 * _M)),
    "mps2-an500": (*_MPS2, (0x6000_0000, 16 * _M)),
    "mps2-an505": (
        *((0x0, 4 * _M), (0x1000_0000, 4 * _M)),
        *((0x2000_0000, 32 * _K), (0x3000_0000, 32 * _K)),
        *((0x2800_0000, 4 * _M), (0x3800_0000, 4 * _M)),
        (0x8000_0000, 16 * _M),
    ),
    "mps3-an547": (
        *((0x0, 512 * _K), (0x1000_0000, 512 * _K)),
        *((0x0100_0000, 2 * _M), (0x1100_0000, 2 * _M)),
        *((0x2000_0000, 512 * _K), (0x3000_0000, 512 * _K)),
        *((0x2100_0000, 4 * _M), (0x3100_0000, 4 * _M)),
        *((0x2800_0000, 8 * _M), (0x3800_0000, 8 * _M)),
        (0x6000_0000, 2048 * _M),
    ),
    "musca-b1": (
        *((0x0, 32 * _M), (0x1000_0000, 32 * _M)),
        *((0x2000_0000, 512 * _K), (0x3000_0000, 512 * _K)),
    ),
}


def memory_of(machine: str, properties: Mapping[str, int]) -> Sequence[Region] | None:
    """The memory of one of QEMU's boards with these properties; None for one not known here."""
    places = _MEMORY.get(machine)
    if machine == "microbit":
        flash = properties.get("nrf51-soc.flash-size", 256 * _K)
        places = ((0x0, flash), (0x2000_0000, properties.get("nrf51-soc.sram-size", 16 * _K)))
    if places is None:
        return None
    return [Region(machine, Memory.RAM, origin, size) for origin, size in places]
