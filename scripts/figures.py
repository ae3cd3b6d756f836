"""Draws the figures of the concepts' pages into docs/figures.

python scripts/figures.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "figures"

_INK, _PALE, _LINE = "#1f2937", "#e5e7eb", "#6b7280"
_KEPT, _MADE, _FAULT = "#93c5fd", "#2563eb", "#dc2626"


@dataclass(slots=True)
class Drawing:
    """An SVG picture; lengths in pixels, y downwards."""

    title: str
    width: int
    height: int
    _parts: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, height: float, fill: str = "white") -> None:
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="3"'
            f' fill="{fill}" stroke="{_LINE}"/>'
        )

    def text(self, x: float, y: float, words: str, anchor: str = "middle", size: int = 13) -> None:
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}">'
            f"{escape(words)}</text>"
        )

    def arrow(self, x1: float, y1: float, x2: float, y2: float, colour: str = _LINE) -> None:
        self._parts.append(
            f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}"'
            ' stroke-width="1.5" marker-end="url(#head)"/>'
        )

    def labelled(self, x: float, y: float, width: float, *lines: str, fill: str = "white") -> None:
        """A box with lines of words in its middle."""
        height = 18 * len(lines) + 14
        self.box(x, y, width, height, fill)
        for number, line in enumerate(lines):
            self.text(x + width / 2, y + 22 + 18 * number, line)

    def svg(self) -> str:
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}"'
                f' height="{self.height}" viewBox="0 0 {self.width} {self.height}" role="img"'
                f' font-family="system-ui, sans-serif" fill="{_INK}">',
                f"<title>{escape(self.title)}</title>",
                '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
                f' markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="{_LINE}"/>'
                "</marker></defs>",
                f'<rect width="{self.width}" height="{self.height}" rx="6" fill="white"/>',
                *self._parts,
                "</svg>\n",
            ]
        )


def rows() -> Drawing:
    """Two 3×3 layers in the middle of an image: what each keeps of its input."""
    drawing = Drawing("Three tensors of two layers; of each, few rows are in memory", 760, 300)
    count, height, width, top = 12, 14, 130, 70
    tensors = [
        ("image", "a ring of 3 rows", range(7, 9), 9),
        ("after the first 3×3 layer", "a ring of 3 rows", range(6, 8), 8),
        ("after the second", "each row is used at once", range(0), 7),
    ]
    for place, (name, note, kept, made) in enumerate(tensors):
        x = 40 + place * 265
        drawing.text(x + width / 2, 36, name, size=15)
        drawing.text(x + width / 2, 56, note)
        for row in range(count):
            fill = _MADE if row == made else _KEPT if row in kept else _PALE
            drawing.box(x, top + row * height, width, height, fill)
        if place < 2:
            y = top + (made - 0.5) * height
            drawing.arrow(x + width + 8, y, x + 257, y - height / 2)
            drawing.text(x + width + 67, y - 18, "reads 3 rows,")
            drawing.text(x + width + 67, y + 26, "makes 1")
    legend = [
        (_MADE, "new in this turn"),
        (_KEPT, "kept in memory"),
        (_PALE, "gone, or not there yet"),
    ]
    x = 150.0
    for fill, words in legend:
        drawing.box(x, 258, 18, 14, fill)
        drawing.text(x + 26, 270, words, anchor="start")
        x += 60 + 8 * len(words)
    return drawing


def verdicts() -> Drawing:
    """What each verdict compares."""
    drawing = Drawing("What each verdict compares", 760, 300)
    drawing.labelled(20, 118, 150, "your model", "in float")
    drawing.labelled(225, 118, 150, "program", "integers, ranges")
    drawing.labelled(430, 30, 150, "reference", "computed here")
    drawing.labelled(430, 206, 150, "firmware", "on the board")
    drawing.text(197, 108, "export")
    drawing.arrow(170, 143, 223, 143)
    drawing.arrow(375, 130, 436, 82)
    drawing.arrow(375, 156, 436, 204)
    verdicts = [
        (600, 122, ["verified", "every byte of", "every output"]),
        (20, 206, ["faithful", "every layer, on the", "program's own inputs"]),
        (20, 20, ["accuracy", "the outputs, in dB"]),
    ]
    for x, y, lines in verdicts:
        drawing.labelled(x, y, 150, *lines, fill="#fef3c7")
    for x1, y1, x2, y2 in [
        (580, 62, 650, 120),
        (580, 226, 650, 192),
        (95, 168, 95, 204),
        (300, 168, 172, 226),
        (95, 118, 95, 72),
        (430, 50, 172, 44),
    ]:
        drawing.arrow(x1, y1, x2, y2, _FAULT)
    return drawing


def estimate() -> Drawing:
    """How the cycles of a run come about."""
    drawing = Drawing("How the cycles of a run are estimated", 760, 190)
    steps = [
        ("simulator", "runs the image,", "counts each block"),
        ("objdump", "the instructions", "of each block"),
        ("model of the core", "cycles of a block", "after another"),
        ("model of the flash", "what the core", "waits for it"),
    ]
    for place, (name, *lines) in enumerate(steps):
        x = 15 + place * 188
        drawing.labelled(x, 30, 150, name, *lines, fill="#fef3c7" if place == 3 else "white")
        if place < 3:
            drawing.arrow(x + 150, 64, x + 186, 64)
    drawing.text(278, 130, "exact: how often each block runs")
    drawing.text(560, 130, "estimated: how long it takes")
    drawing.text(380, 165, "cycles = Σ (times that a block follows another) × (its cycles then)")
    return drawing


def figures() -> Iterator[tuple[Path, str]]:
    """The file and the text of each."""
    for draw in (rows, verdicts, estimate):
        yield FOLDER / f"{draw.__name__}.svg", draw().svg()


if __name__ == "__main__":
    for path, text in figures():
        path.write_text(text)
