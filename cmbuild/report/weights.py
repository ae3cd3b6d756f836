"""Where weights come from: a line, or a warning that nobody can miss."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from cmbuild.report.text import entry
from cmbuild.results import WeightsResult


def weights_lines(weights: WeightsResult) -> Iterator[Text]:
    """`weights   trained: …`; for random ones what that means, and what to do."""
    if weights.is_random:
        yield Text("  ! WEIGHTS ARE RANDOM: the outputs are right, and mean nothing", "yellow")
        yield Text(entry("", f"{weights.detail}; --weights FILE loads a state dict"))
    else:
        yield Text(entry("weights", f"{weights.source}: {weights.detail}"))
