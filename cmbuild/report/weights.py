"""The source of the weights: a line, or a warning."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.text import Text

from cmbuild.report.text import entry, warning
from cmbuild.results import WeightsResult

_ADDRESSES = re.compile(r"\w+://\S+: |\[Errno -?\d+\] ")
"""Parts of a failed download that only `--json` tells."""


def weights_lines(weights: WeightsResult) -> Iterator[Text]:
    """`weights   trained: …`; for random ones, what that means and how to load others."""
    if weights.is_random:
        yield Text(warning("random weights: bit-exact but meaningless outputs"), "yellow")
        detail = _ADDRESSES.sub("", weights.detail)
        yield Text(entry("", f"{detail}; --weights FILE loads a state dict"))
    else:
        yield Text(entry("weights", f"{weights.source}: {weights.detail}"))
