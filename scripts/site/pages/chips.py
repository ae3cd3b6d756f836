"""Chips that boards can be named by, one line a series."""

from __future__ import annotations

import re
from collections import defaultdict

from cmbuild.chips.chip import Chip
from cmbuild.chips.table import chips, source
from cmbuild.text import size
from pages.tables import table

_SERIES = 9
"""Letters of a name that tell a series: `STM32F411`."""


def page() -> str:
    series: dict[str, list[Chip]] = defaultdict(list)
    for chip in chips().values():
        series[re.split(r"[_-]", chip.name)[0][:_SERIES]].append(chip)
    rows = []
    for name, members in series.items():
        cores = ", ".join(sorted({chip.cpu.removeprefix("cortex-") for chip in members}))
        flash = [chip.flash.size for chip in members if chip.has_flash]
        rows.append(
            [
                f"`{name}`",
                str(len(members)),
                cores,
                _span(flash),
                _span([chip.ram[0].size for chip in members]),
            ]
        )
    return "\n".join(
        [
            "# Chips\n",
            f"{len(chips()):,} chips from {source()}; `cmbuild chips PATTERN` lists each with its "
            "memory.\n",
            table(["series", "chips", "core, Cortex-", "flash", "largest RAM"], rows),
        ]
    )


def _span(sizes: list[int]) -> str:
    if not sizes:
        return "outside of the chip"
    least, most = min(sizes), max(sizes)
    return size(least) if least == most else f"{size(least)} to {size(most)}"
