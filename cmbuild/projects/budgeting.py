"""Budgets from a run: what a model costs now and a little more, written into the project's file."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cmbuild.errors import UsageError
from cmbuild.files import put
from cmbuild.paths import PYPROJECT
from cmbuild.projects.check import CheckedUnit
from cmbuild.projects.figures import RunFigures
from cmbuild.projects.metrics import METRICS, Metric

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MARGIN = 0.05
"""Growth of a cost that a written budget allows."""

_USUAL = ("flash", "ram", "instructions", "accuracy")
"""Metrics of a budget that names none yet."""

_KEY = re.compile(r"^(\s*[\w-]+\s*=\s*)(?:\"[^\"]*\"|[^#\"]*?)(\s*(?:#.*)?)$")


class NotEdited(UsageError):
    template = "cannot write budgets into {file}: {reason}"
    hint = "write [models.{model}.budget.{board}] yourself: {limits}"


def set_budgets(file: Path, units: Iterable[CheckedUnit]) -> None:
    """Writes the budgets of units that ran and were verified; comments and order stay.

    Raises:
        NotEdited: the file has a budget in another form than a table of its own.
        NotWritable, NoSpace: it cannot be written.
    """
    text = file.read_text("utf-8")
    prefix = ("tool", "cmbuild") if file.name == PYPROJECT else ()
    for checked in units:
        if checked.figures is None or checked.failure is not None:
            continue
        unit = checked.unit
        wanted = limits_of(checked, checked.figures)
        table = (*prefix, "models", unit.model, "budget", unit.board)
        text = with_limits(text, table, wanted)
        reason = _problem(text, table, wanted)
        if reason is not None:
            told = ", ".join(f"{key} = {value}" for key, value in wanted.items())
            raise NotEdited(
                file=file, reason=reason, model=unit.model, board=unit.board, limits=told
            )
    put(file, text.encode())


def limits_of(checked: CheckedUnit, figures: RunFigures) -> dict[str, str]:
    """The limits of a budget as TOML, for the metrics that it has, or the usual ones."""
    budget = checked.unit.budget
    limits = {}
    for metric in METRICS:
        has_limit = budget is not None and getattr(budget, metric.name) is not None
        value = metric.value(figures)
        if value is not None and (has_limit or (budget is None and metric.name in _USUAL)):
            limits[metric.name] = _written(metric, value)
    return limits


def _written(metric: Metric, value: float) -> str:
    """A value and the margin, rounded away from it, in the words of a budget."""
    if metric.unit == "share":
        percent = 100 * value
        rounded = math.floor(percent) - 1 if metric.is_least else math.ceil(percent) + 1
        return f'"{max(0, min(100, rounded))}%"'
    if metric.is_least:
        return f"{math.floor(value) - 1}"
    most = value * (1 + MARGIN)
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)) if metric.unit == "bytes" else _COUNTS:
        if most >= size:
            return f'"{math.ceil(100 * most / size) / 100:g}{unit}"'
    return f"{math.ceil(100 * most) / 100:g}" if metric.unit == "ms" else f"{math.ceil(most)}"


_COUNTS = (("M", 10**6), ("k", 10**3))


def with_limits(text: str, table: Sequence[str], limits: Mapping[str, str]) -> str:
    """The text of a TOML file with these keys in a table, which is added if there is none."""
    lines = text.splitlines()
    headers = [number for number, line in enumerate(lines) if line.lstrip().startswith("[")]
    start = next((each for each in headers if _path(lines[each]) == tuple(table)), None)
    if start is None:
        name = ".".join(table)
        added = [f"{key} = {value}" for key, value in limits.items()]
        return "\n".join([*lines, "", f"[{name}]", *added]) + "\n"
    end = next((each for each in headers if each > start), len(lines))
    body = lines[start + 1 : end]
    left = dict(limits)
    for number, line in enumerate(body):
        key = line.partition("=")[0].strip()
        if key in left and (match := _KEY.match(line)):
            body[number] = f"{match[1]}{left.pop(key)}{match[2]}"
    last = max((number + 1 for number, line in enumerate(body) if line.strip()), default=0)
    body[last:last] = [f"{key} = {value}" for key, value in left.items()]
    return "\n".join([*lines[: start + 1], *body, *lines[end:]]) + "\n"


def _path(header: str) -> tuple[str, ...]:
    """The names of a table's header; nothing for an array of tables."""
    try:
        document: Any = tomllib.loads(header)
    except ValueError:
        return ()
    names = []
    while isinstance(document, dict) and document:
        ((name, document),) = document.items()
        names.append(name)
    return tuple(names) if isinstance(document, dict) else ()


def _problem(text: str, table: Sequence[str], limits: Mapping[str, str]) -> str | None:
    """Why the text does not say what it should; None if it does."""
    try:
        found: Any = tomllib.loads(text)
    except ValueError as error:
        return f"it would not be TOML: {error}"
    for name in table:
        found = found.get(name, {})
    wanted = tomllib.loads("\n".join(f"{key} = {value}" for key, value in limits.items()))
    is_there = {key: found.get(key) for key in wanted} == wanted
    return None if is_there else "its budget is not a table of its own"
