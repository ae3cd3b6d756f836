"""The table of `--layers`: each step under the name of its module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from cmbuild.pipeline.layers import PlacedLayer
from cmbuild.report import text
from cmbuild.report.words import plain
from cmbuild.text import count, size

_REST = 37  # columns besides those of the layer and the op
_LIVE = 12  # `1024 → 1000`
_KIND = 7  # `16w16a`
_USUAL = ("8w8a", "8a", None)
_DIM = "dim"


def layer_lines(layers: Sequence[PlacedLayer]) -> Iterator[Text]:
    """A line each, in the order of execution; costs are cycles where those are known."""
    has_cycles = any(layer.cycles is not None for layer in layers)
    costs = [layer.cycles if has_cycles else layer.instructions for layer in layers]
    whole = sum(filter(None, costs))
    if text.width() < text.FEW_COLUMNS:
        yield from _narrow_lines(layers, costs, "cycles" if has_cycles else "instr")
        return
    op = 20 if text.width() >= 80 else 11
    live = _LIVE if any(map(is_pruned, layers)) else 0
    kind = _KIND if any(layer.precision not in _USUAL for layer in layers) else 0
    name = min(60, text.width() - _REST - op - live - kind)
    unit = "cycles" if has_cycles else "instr"
    head = (
        f"  {'layer':<{name}} {'op':<{op}}{' live' if live else '':<{live}}"
        f"{' type' if kind else '':<{kind}} {'isa':<6}"
        f" {unit:>8} {'share':>5} {'weights':>8}"
    )
    yield Text(head, _DIM)
    for layer, cost in zip(layers, costs, strict=True):
        indent = "" if layer.stream is None else " "
        row = (
            f"  {indent + _tail(layer.name, name - len(indent)):<{name}}"
            f" {text.fit(plain(layer.title), op):<{op}}"
            f"{_live(layer):<{live}}"
            f"{f' {layer.precision or str()}' if kind else '':<{kind}}"
            f" {_isa(layer):<6}"
            f" {'' if cost is None else count(cost):>8}"
            f" {'' if cost is None or not whole else f'{cost / whole:.0%}':>5}"
            f" {size(layer.weights) if layer.weights else '':>8}"
        )
        yield Text(row.rstrip())
        if layer.fallback is not None:
            yield Text(text.indented(layer.fallback, 6), "yellow")


def _narrow_lines(
    layers: Sequence[PlacedLayer], costs: Sequence[int | None], unit: str
) -> Iterator[Text]:
    """Names, costs and shares alone."""
    whole = sum(filter(None, costs))
    name = text.width() - 17
    yield Text(f"  {'layer':<{name}} {unit:>8} share", _DIM)
    for layer, cost in zip(layers, costs, strict=True):
        share = "" if cost is None or not whole else f"{cost / whole:.0%}"
        told = "" if cost is None else count(cost)
        yield Text(f"  {_tail(plain(layer.name), name):<{name}} {told:>8} {share:>5}".rstrip())


def is_pruned(layer: PlacedLayer) -> bool:
    """Whether channels of its output are not computed."""
    return layer.channels != layer.live_channels


def _live(layer: PlacedLayer) -> str:
    """` 128 → 19`, in the columns of `_LIVE`."""
    return f" {layer.channels} → {layer.live_channels}" if is_pruned(layer) else ""


def _tail(name: str, width: int) -> str:
    """The end of a module's path says more than its beginning."""
    return name if len(name) <= width else "…" + name[1 - width :]


def _isa(layer: PlacedLayer) -> str:
    return "float" if layer.arithmetic == "float" else layer.isa or ""
