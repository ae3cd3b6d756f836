"""Reads of flash in Unicorn, counted by a library of C: Python would take minutes for them."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unicorn import Uc

_ANYWHERE = (1, 0)
"""A hook's range of addresses: from above up to means all."""


_COUNTS = 7
"""Fields of struct flash_counts, runtime/tools/flash_reads.h."""


class FlashReads:
    """Counts what a machine reads from its flash.

    Its hooks are functions of the library, which Unicorn's Python interface cannot take; so they
    are handed to Unicorn itself.
    """

    def __init__(self, library: Path, chip: str) -> None:
        """
        Args:
            library: runtime/tools/flash_reads.c, compiled.
            chip: the flash, as the library takes it.
        """
        self._library = ctypes.CDLL(str(library))
        if not self._library.flash_begin(chip.encode()):
            raise ValueError(f"not a flash: {chip!r}")
        origin, end, *_, ram_origin, ram_end = map(int, chip.split(":"))
        self._flash = origin, end - 1
        self._ram = (ram_origin, ram_end - 1) if ram_end else None
        self._hooks: list[ctypes.c_size_t] = []

    def watch(self, machine: Uc) -> None:
        """Begins to count."""
        import unicorn

        self._hook(machine, unicorn.UC_HOOK_BLOCK, self._library.flash_block_hook, _ANYWHERE)
        access = self._library.flash_access_hook
        self._hook(machine, unicorn.UC_HOOK_MEM_READ, access, self._flash)
        if self._ram is not None:
            both = unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE
            self._hook(machine, both, access, self._ram)

    def stop(self, machine: Uc) -> None:
        """Removes the hooks."""
        from unicorn.unicorn_py3.unicorn import uclib

        for hook in self._hooks:
            uclib.uc_hook_del(machine._uch, hook)
        self._hooks.clear()

    def taken(self) -> str:
        """A line of the profile: the counts since the last one."""
        counts = (ctypes.c_uint64 * _COUNTS)()
        self._library.flash_take(counts)
        return " ".join(["flash", *map(str, counts)])

    def _hook(self, machine: Uc, kind: int, function: object, addresses: tuple[int, int]) -> None:
        import unicorn
        from unicorn.unicorn_py3.unicorn import uclib

        hook = ctypes.c_size_t()
        first, last = map(ctypes.c_uint64, addresses)
        callback = ctypes.cast(function, ctypes.c_void_p)  # type: ignore[arg-type]
        status = uclib.uc_hook_add(
            machine._uch, ctypes.byref(hook), ctypes.c_int(kind), callback, None, first, last
        )
        if status:
            raise unicorn.UcError(status)
        self._hooks.append(hook)
