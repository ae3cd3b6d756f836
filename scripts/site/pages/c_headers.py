"""The functions of a package and what each returns in each state of its context."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def page() -> str:
    text = (ROOT / "docs" / "packages.md").read_text()
    tables = re.findall(r"^\| declared in .*\n(?:\|.*\n)+", text, re.M)
    calls = re.findall(r"<!-- generated: calls-of-packages -->\n(.*?)<!-- end -->", text, re.S)
    return "\n".join(
        [
            "# C of packages\n",
            "[Packages](../packages.md) explains how to use them. `kws` stands for the "
            "package's name.\n",
            "## Functions\n",
            *tables,
            "## What each returns\n",
            *calls,
        ]
    )
