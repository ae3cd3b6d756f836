"""Charts in SVG: points over two axes, and bars in pairs. Readable at 400 pixels and on paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

_WIDTH, _HEIGHT = 440, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 428, 22, 256
_LETTER, _LINE = 5.6, 12  # width and height of labels, at most
_GROUPS = 6
"""Colours of groups; further groups begin anew with another shape."""

_LEAST_RATIO = 1.5  # of the ends of an axis
_MOST_TICKS = 7
_PLACES = ((7, 4, "start"), (-7, 4, "end"), (0, -8, "middle"), (0, 16, "middle"))
"""Where a label may stand: right of its point, left, above, below."""


@dataclass(frozen=True, slots=True)
class Point:
    """
    Attributes:
        label: beside the point, where there is room.
        group: points of a group look alike, and the key names it.
        detail: shown under the mouse.
        stands_out: a ring around it.
    """

    x: float
    y: float
    label: str
    group: str
    detail: str = ""
    stands_out: bool = False


@dataclass(frozen=True, slots=True)
class PlotAxis:
    """
    Attributes:
        written: a value for people: `59.7 M`.
        is_log: its ticks are 1, 2 and 5 times powers of ten.
        is_binary: its ticks are powers of two, for bytes; together with is_log.
    """

    title: str
    written: Callable[[float], str]
    is_log: bool = True
    is_binary: bool = False


@dataclass(frozen=True, slots=True)
class BarPair:
    """Two values side by side; one that is None has no bar."""

    label: str
    told: str
    before: float | None
    after: float | None


def groups(points: Sequence[Point]) -> dict[str, int]:
    """Numbers of the groups, in the order of their first points."""
    return {name: number for number, name in enumerate(dict.fromkeys(p.group for p in points))}


def scatter(points: Sequence[Point], x: PlotAxis, y: PlotAxis, name: str) -> Markup:
    """A chart of points, and its key if there are several groups.

    Args:
        points: one at least; values of logarithmic axes are positive.
        name: what it shows, for those who do not see it.
    """
    across = _Scale.of(x, [point.x for point in points], _LEFT, _RIGHT)
    up = _Scale.of(y, [point.y for point in points], _BOTTOM, _TOP)
    numbers = groups(points)
    parts = [*_across(across), *_up(up)]
    # Points that stand out get the first choice of places for their labels, and are on top.
    ordered = sorted(points, key=lambda point: point.stands_out)
    labels = _Labels([(across.at(point.x), up.at(point.y)) for point in points])
    texts = [
        labels.text(across.at(point.x), up.at(point.y), point.label) for point in reversed(ordered)
    ]
    for point in ordered:
        parts.append(_dot(across.at(point.x), up.at(point.y), numbers[point.group], point))
    shown = Markup("\n").join([*parts, *filter(None, texts)])
    svg = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">\n{}\n</svg>')
    chart = svg.format(_WIDTH, _HEIGHT, name, shown)
    if len(numbers) < 2:
        return Markup("<figure>{}</figure>").format(chart)
    key = Markup(" ").join(
        Markup(
            '<span><svg class="dot" viewBox="-6 -6 12 12" aria-hidden="true">{}</svg>{}</span>'
        ).format(_mark(0, 0, number), group)
        for group, number in numbers.items()
    )
    return Markup('<figure>{}\n<p class="key">{}</p></figure>').format(chart, key)


def pairs(rows: Sequence[BarPair], name: str, shared: bool = False) -> Markup:
    """Bars in pairs, each with its label above them.

    Args:
        shared: all bars have one scale; otherwise each pair has its own.
        name: what they show, for those who do not see it.
    """
    most = [_most([row]) for row in rows]
    scales = [max(most, default=1.0)] * len(rows) if shared else most
    height = 36
    parts = []
    for number, (row, scale) in enumerate(zip(rows, scales, strict=True)):
        top = number * height
        parts.append(_text(0, top + 12, row.label, "start"))
        parts.append(_text(_WIDTH, top + 12, row.told, "end"))
        for kind, value, y in (("before", row.before, top + 16), ("after", row.after, top + 24)):
            if value is not None:
                width = max(1.0, _WIDTH * max(0.0, value) / scale)
                parts.append(
                    Markup('<rect class="{}" y="{}" width="{}" height="7"/>').format(
                        kind, y, f"{width:.2f}"
                    )
                )
    svg = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">\n{}\n</svg>')
    chart = svg.format(_WIDTH, height * max(1, len(rows)), name, Markup("\n").join(parts))
    key = '<span><i class="before"></i>before</span> <span><i class="after"></i>after</span>'
    return Markup('<figure>{}\n<p class="key">{}</p></figure>').format(chart, Markup(key))


def _most(rows: Sequence[BarPair]) -> float:
    values = [value for row in rows for value in (row.before, row.after) if value is not None]
    return max([*values, 0.0]) or 1.0


@dataclass(frozen=True, slots=True)
class _Scale:
    """An axis on paper.

    Attributes:
        low, high: values at its ends.
        start, end: where those are.
    """

    axis: PlotAxis
    low: float
    high: float
    start: float
    end: float

    @classmethod
    def of(cls, axis: PlotAxis, values: Sequence[float], start: float, end: float) -> _Scale:
        """With some room around the values."""
        low, high = min(values), max(values)
        if axis.is_log:
            ratio = max(high / low, _LEAST_RATIO) ** 0.08
            return cls(axis, low / ratio, high * ratio, start, end)
        margin = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
        return cls(axis, low - margin, high + margin, start, end)

    def at(self, value: float) -> float:
        return self.start + (self.end - self.start) * self._share(value)

    def ticks(self) -> list[float]:
        """A few round values."""
        if not self.axis.is_log:
            return _round_steps(self.low, self.high)
        for values in _binary() if self.axis.is_binary else _decimal():
            within = [value for value in values if self.low <= value <= self.high]
            if len(within) <= _MOST_TICKS:
                break
        return within if len(within) > 1 else _round_steps(self.low, self.high)

    def _share(self, value: float) -> float:
        if self.axis.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def _binary() -> Iterator[list[float]]:
    """Powers of two, from many to few."""
    for step in (1, 2, 4, 8):
        yield [2.0**power for power in range(0, 41, step)]


def _decimal() -> Iterator[list[float]]:
    """Round values, from many to few."""
    for factors in ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        yield [factor * 10.0**power for power in range(-9, 16) for factor in factors]
    yield [10.0**power for power in range(-9, 16, 3)]


def _round_steps(low: float, high: float) -> list[float]:
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    first = math.ceil(low / step)
    return [step * number for number in range(first, math.floor(high / step) + 1)]


def _across(scale: _Scale) -> Iterator[Markup]:
    for tick in scale.ticks():
        x = scale.at(tick)
        yield _line(x, x, _TOP, _BOTTOM)
        yield _text(x, _BOTTOM + 15, scale.axis.written(tick), "middle")
    yield _text((_LEFT + _RIGHT) / 2, _BOTTOM + 34, scale.axis.title, "middle")


def _up(scale: _Scale) -> Iterator[Markup]:
    for tick in scale.ticks():
        y = scale.at(tick)
        yield _line(_LEFT, _RIGHT, y, y)
        yield _text(_LEFT - 5, y + 4, scale.axis.written(tick), "end")
    yield _text(4, _TOP - 10, scale.axis.title, "start")


class _Labels:
    """Places labels where they cover neither points nor each other."""

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        self._taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]

    def text(self, x: float, y: float, label: str) -> Markup | None:
        """The label of a point; None if there is no room for it."""
        length = _LETTER * len(label)
        for right, down, anchor in _PLACES:
            left = x + right - {"start": 0.0, "end": length, "middle": length / 2}[anchor]
            box = (left, y + down - _LINE + 3, left + length, y + down + 3)
            inside = left >= _LEFT and left + length <= _WIDTH and box[1] >= _TOP
            if inside and box[3] <= _BOTTOM and not any(_overlap(box, one) for one in self._taken):
                self._taken.append(box)
                return _text(x + right, y + down, label, anchor)
        return None


_Box = tuple[float, float, float, float]


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _dot(x: float, y: float, group: int, point: Point) -> Markup:
    title = Markup("<title>{}</title>").format(point.detail or point.label)
    ring = _ring(x, y) if point.stands_out else Markup()
    return Markup("<g>{}{}{}</g>").format(title, ring, _mark(x, y, group))


def _ring(x: float, y: float) -> Markup:
    return Markup('<circle class="ring" cx="{:.1f}" cy="{:.1f}" r="6.5"/>').format(x, y)


def _mark(x: float, y: float, group: int) -> Markup:
    """A circle, square, diamond or triangle: colours alone are not for everybody."""
    shapes = (
        f"M{x - 4:.1f} {y:.1f}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        f"M{x - 3.5:.1f} {y - 3.5:.1f}h7v7h-7z",
        f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z",
        f"M{x:.1f} {y - 5:.1f}l4.6 8.5h-9.2z",
    )
    shape = shapes[(group + group // _GROUPS) % len(shapes)]
    return Markup('<path class="g{}" d="{}"/>').format(group % _GROUPS, shape)


def _line(x1: float, x2: float, y1: float, y2: float) -> Markup:
    return Markup('<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(
        x1, x2, y1, y2
    )


def _text(x: float, y: float, words: str, anchor: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        x, y, anchor, escape(words)
    )
