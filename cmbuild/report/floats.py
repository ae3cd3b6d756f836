"""Operators worth a word: those in float, and those that ExecuTorch's runtime lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

from cmbuild.accuracy import FloatCall, FloatUse
from cmbuild.report import text
from cmbuild.text import percent, plural

_SHOWN = 5  # operators that are named
_COLUMNS = 6


def float_lines(use: FloatUse, has_fpu: bool) -> Iterator[Text]:
    """`! 7 operators in float: 97 % of instructions`, and the most expensive of them."""
    if not use.operators:
        return
    share = percent(use.share, 0) + " of instructions" + (", estimated" if use.estimated else "")
    fpu = "" if has_fpu else "; the core has no FPU, and computes them in software"
    count = plural(len(use.operators), "operator")
    yield Text(text.warning(f"{count} in float: {share}{fpu}"), "yellow")
    shown = use.operators[:_SHOWN]
    for call in shown:
        place = _place(call)
        yield Text(text.indented(f"{call.name}{place and f'  {place}'}  {call.reason}", _COLUMNS))
    if more := len(use.operators) - len(shown):
        yield Text(text.indented(f"and {more} more", _COLUMNS))
    for hint in dict.fromkeys(call.hint for call in shown):
        yield Text(text.indented(f"try: {hint}", _COLUMNS))


def _place(call: FloatCall) -> str:
    """`net.py:10`, or nothing."""
    return "" if call.file is None else f"{Path(call.file).name}:{call.line}"


def lacking_lines(operators: Sequence[str]) -> Iterator[str]:
    """Lines that say why ExecuTorch's own runtime cannot run the program; nothing if it can."""
    if operators:
        names = ", ".join(operators)
        yield text.entry("portable", f"no: ExecuTorch's runtime lacks {names}; see --portable")
