"""Whether the layers of a program are the model's, in words."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from cmbuild.accuracy import Faithfulness
from cmbuild.report import text
from cmbuild.text import plural

_FAULTS = 3  # layers that are not faithful
_GOOD, _BAD = "green", "red"


def faithful_text(check: Faithfulness) -> str:
    """`faithful: 42 of 42 layers`"""
    layers, unpaired = len(check.layers), len(check.unpaired)
    if check.faithful is None:
        return f"layers not compared: {check.reason or 'none has a counterpart'}"
    if check.faithful is False:
        return f"not faithful: {plural(len(check.faults), 'fault')} in {plural(layers, 'layer')}"
    if not unpaired:
        return f"faithful: {layers} of {plural(layers, 'layer')}"
    names = ", ".join(dict.fromkeys(map(_operator, check.unpaired)))
    return (
        f"faithful: {layers} of {plural(layers + unpaired, 'layer')} checked, "
        f"{unpaired} without a counterpart: {names}"
    )


def _operator(source: str) -> str:
    """`add` of `aten::add.out #12`"""
    return source.rpartition("::")[2].partition(".")[0]


def verdict_lines(check: Faithfulness) -> Iterator[Text]:
    """`✓ faithful: 42 of 42 layers`, or the layers that are not."""
    if check.faithful is False:
        yield from fault_lines(check)
        return
    mark = "" if check.faithful is None else "✓ "
    line = Text(text.indented(f"{mark}{faithful_text(check)}", 2))
    line.stylize(_GOOD if check.faithful else "", 2, 2 + len(f"{mark}faithful"))
    yield line


def fault_lines(check: Faithfulness) -> Iterator[Text]:
    """Layers that are not the model's, the first few."""
    for fault in check.faults[:_FAULTS]:
        line = Text(text.indented(f"✗ not faithful: {fault}", 2))
        line.stylize(_BAD, 2, 2 + len("✗ not faithful"))
        yield line
    if (more := len(check.faults) - _FAULTS) > 0:
        yield Text(text.indented(f"and {plural(more, 'more layer')}: --json has them all", 4))
