"""Cycles that a core waits for its flash: counts of reads, times constants of the chip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from cmbuild.boards.descriptor import Address, Size
from cmbuild.boards.memory import Region
from cmbuild.cycles.profile import FlashCounts
from cmbuild.strictfile import Inconsistent, Table


class CodeRam(Table):
    """[clock.flash.code_ram]: RAM that code runs from without waiting.

    Attributes:
        region: the RAM of variables, or what the bus of code reads as this region.
        origin: where the RAM of variables begins if code takes that region; None for as it is.
        size: bytes of it then.
    """

    region: str
    origin: Address | None = None
    size: Size | None = None


class FlashAccess(Table):
    """[clock.flash]: what lies between core and flash.

    Attributes:
        clocks: the highest frequencies of the core with 0, 1, 2, … wait states.
        line: bytes of a read.
        prefetch: whether the next line of code is read ahead.
        code_cache: bytes of the cache for code; None without.
        code_ways: places that a line can have in it; None for all.
        data_cache: bytes of the cache for constants; None without.
        data_ways: as code_ways.
        shared: whether the cache for code holds constants too.
        miss_cycles: cycles that a miss costs at the highest clock, calibrated, which figures are
            for then; None for the wait states.
        line_cycles: cycles that each line costs which execution enters, calibrated.
        read_cycles: cycles that each read of constants costs, calibrated.
        cached_ram: the region of RAM that the cache for constants holds as well; None if it holds
            flash alone.
        ram_cycles: cycles that a line of it costs which is not in the cache, calibrated.
        code_ram: where kernels run from if it is to spare; None to leave them in flash.
        error_percent: the largest difference from cycles measured on boards.
    """

    clocks: Annotated[list[Annotated[int, Field(gt=0, le=10_000_000_000)]], Field(min_length=1)]
    line: Annotated[int, Field(ge=4, le=256)]
    prefetch: bool = False
    code_cache: Size | None = None
    code_ways: Annotated[int, Field(ge=1, le=64)] | None = None
    data_cache: Size | None = None
    data_ways: Annotated[int, Field(ge=1, le=64)] | None = None
    shared: bool = False
    miss_cycles: Annotated[float, Field(ge=0, le=1000)] | None = None
    line_cycles: Annotated[float, Field(ge=0, le=100)] = 0.0
    read_cycles: Annotated[float, Field(ge=0, le=100)] = 0.0
    cached_ram: str | None = None
    ram_cycles: Annotated[float, Field(ge=0, le=100)] = 0.0
    code_ram: CodeRam | None = None
    error_percent: Annotated[int, Field(ge=0, le=100)] | None = None

    def check(self) -> None:
        """
        Raises:
            Inconsistent: naming the key below this table.
        """
        if self.line & (self.line - 1):
            raise Inconsistent(("line",), f"{self.line} is not a power of two")
        if sorted(set(self.clocks)) != self.clocks:
            raise Inconsistent(("clocks",), "each further wait state needs a higher frequency")
        if self.shared and (self.code_cache is None or self.data_cache is not None):
            raise Inconsistent(("shared",), "expected code_cache alone")
        if self.cached_ram is not None and self.data_cache is None:
            raise Inconsistent(("cached_ram",), "expected data_cache, which holds it")
        place = self.code_ram
        if place is not None and (place.origin is None) != (place.size is None):
            raise Inconsistent(("code_ram",), "expected origin and size, or neither")
        for name in ("code", "data"):
            size, ways = getattr(self, f"{name}_cache"), getattr(self, f"{name}_ways")
            if ways is not None and (size is None or size % (self.line * ways)):
                problem = f"do not divide the lines of {name}_cache"
                raise Inconsistent((f"{name}_ways",), problem)
            if size is not None and size % self.line:
                raise Inconsistent((f"{name}_cache",), f"is not a multiple of {self.line} bytes")

    @property
    def ram(self) -> list[tuple[tuple[str, ...], str]]:
        """The regions of RAM that are named, each after its key below this table."""
        place = None if self.code_ram is None else self.code_ram.region
        named = ((("cached_ram",), self.cached_ram), (("code_ram", "region"), place))
        return [(key, name) for key, name in named if name is not None]

    def at(self, hertz: int) -> FlashModel:
        """The flash at the board's clock; at the chip's highest one if the board's needs no wait
        states, or if the cycles of a miss are those of the highest.
        """
        needs_none = hertz <= self.clocks[0] or self.miss_cycles is not None
        chosen = self.clocks[-1] if needs_none else hertz
        waits = next((n for n, most in enumerate(self.clocks) if chosen <= most), len(self.clocks))
        return FlashModel(self, chosen, waits)


@dataclass(frozen=True, slots=True)
class FlashModel:
    """A chip's flash at one clock.

    Attributes:
        hertz: of the core.
        wait_states: cycles that a read takes longer.
    """

    table: FlashAccess
    hertz: int
    wait_states: int

    def chip(self, region: Region, ram: Region | None) -> str:
        """The argument of runtime/tools/flash_reads.h.

        Args:
            ram: `cached_ram`.
        """
        table = self.table
        sizes = (table.code_cache, table.code_ways, table.data_cache, table.data_ways)
        cached = (0, 0) if ram is None else (ram.origin, ram.end)
        first = (region.origin, region.end, table.line, table.prefetch, table.shared)
        facts = (*first, *sizes, *cached)
        return ":".join(str(int(fact or 0)) for fact in facts)

    def cycles(self, core: float, counts: FlashCounts) -> float:
        """Cycles with flash.

        Args:
            core: cycles of the same instructions at zero wait states.
        """
        table = self.table
        wait = self.wait_states if table.miss_cycles is None else table.miss_cycles
        waited = wait * (counts.code_misses + counts.data_misses)
        waited += table.line_cycles * counts.lines + table.read_cycles * counts.reads
        waited += table.ram_cycles * counts.ram_misses
        if table.prefetch and not table.shared:
            # A line read ahead is late if the one before it ran faster than flash reads.
            late = wait + 1 - core / max(1, counts.lines)
            waited += max(0.0, late) * counts.prefetched
            if table.data_cache is None:  # on average, half of the prefetch is still to come
                waited += counts.conflicts * wait / 2
        return core + waited
