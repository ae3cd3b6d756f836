"""How much a metric may change between two runs: `+1%`, `+2K`, `-0.5%`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cmbuild.errors import UsageError
from cmbuild.projects.metrics import METRICS, Metric
from cmbuild.projects.quantities import parse_bytes, parse_count

_CHANGE = re.compile(r"([+-])(\d+(?:\.\d+)?)\s*(%|[A-Za-z]*)")

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Threshold:
    """The largest growth of a metric, or its deepest fall where more is better.

    Attributes:
        amount: of the change; a share of the former value if it is relative.
    """

    metric: Metric
    amount: float
    is_relative: bool
    text: str

    def excess(self, before: float, after: float) -> float | None:
        """By how much the change is beyond it, in the metric's unit; None if it is within."""
        allowed = before * self.amount if self.is_relative else self.amount
        change = 0.0 if before == after else after - before  # both may be infinite
        excess = allowed - change if self.metric.is_least else change - allowed
        # A difference from rounding on the way counts as none.
        return excess if excess > _ROUNDING * max(1.0, abs(before)) else None


def option(metric: Metric) -> str:
    """`--max-flash`, `--max-cycles-with-flash`, `--min-accuracy`"""
    return f"--{'min' if metric.is_least else 'max'}-{metric.name.replace('_', '-')}"


def thresholds(chosen: dict[str, str | None]) -> tuple[Threshold, ...]:
    """
    Args:
        chosen: by name of the metric; None for none.

    Raises:
        UsageError: not a change.
    """
    given = ((metric, chosen.get(metric.name)) for metric in METRICS)
    return tuple(_parse(metric, text) for metric, text in given if text is not None)


def _parse(metric: Metric, text: str) -> Threshold:
    match = _CHANGE.fullmatch(text.strip())
    amount = None
    if match is not None:
        amount = _amount(metric, match[2], match[3])
    if match is None or amount is None:
        examples = {"bytes": "+1% or +2K", "share": "-0.5%" if metric.is_least else "+0.5%"}
        wanted = examples.get(metric.unit, "-1" if metric.unit == "dB" else "+1%")
        hint = "the sign says which way: + for more, - for less"
        message = f"{option(metric)} {text}: expected a change such as {wanted}"
        raise UsageError(message=message, hint=hint)
    # A share is in percent already: -0.5% of accuracy are half a point, not half a percent of it.
    is_relative = match[3] == "%" and metric.unit != "share"
    return Threshold(metric, amount if match[1] == "+" else -amount, is_relative, text)


def _amount(metric: Metric, number: str, unit: str) -> float | None:
    """Without its sign; None if the metric has no such unit."""
    if unit == "%":
        return float(number) / 100
    try:
        match metric.unit:
            case "bytes":
                return float(str(parse_bytes(number + unit)))
            case "instructions" | "cycles":
                return float(str(parse_count(number + unit)))
            case "dB" | "ms" if unit in ("", metric.unit):
                return float(number)
    except ValueError:
        pass
    return None
