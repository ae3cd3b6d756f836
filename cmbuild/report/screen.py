"""The screen at the end of a run: whether it is right, and what it costs. 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import isinf
from pathlib import Path

from rich.text import Text

from cmbuild.accuracy import Accuracy, Fidelity
from cmbuild.report import text
from cmbuild.report.floats import float_lines, lacking_lines
from cmbuild.report.weights import weights_lines
from cmbuild.results import (
    Cycles,
    Instructions,
    MemoryUse,
    OpCount,
    PortResult,
    RunResult,
    Verification,
)
from cmbuild.text import count, percent, plural, shape, size

GOOD, BAD, FAINT = "green", "red", "dim"
_OPS = 12  # rows of the table of ops


def screen(run: RunResult) -> Text:
    """The facts of a run, most important first."""
    lines = [
        _verdict(run.verification, _reference(run)),
        *map(Text, _quality(run.accuracy, run.fidelity)),
        *weights_lines(run.weights),
        *(Text(text.warning(each), "yellow") for each in run.warnings),
        *map(Text, lacking_lines(run.lacking)),
        *float_lines(run.float, run.has_fpu),
        Text(),
        *(Text(line) for line in _facts(run)),
        *_table(run.instructions),
        Text(),
        Text(text.entry("artefacts", f"{shown(run.folder)}/")),
    ]
    return Text("\n").join(lines)


def shown(path: Path) -> Path:
    """A path as people would type it: relative if it is below the current folder."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _reference(run: RunResult) -> str:
    """Called int8 if any input or output of the program is quantised."""
    ports = (*run.inputs, *run.outputs)
    return "the reference" if all(port.scale is None for port in ports) else "the int8 reference"


def _verdict(check: Verification, reference: str) -> Text:
    good = check.samples - check.failed
    if check.verified:
        verb = "matches" if check.samples == 1 else "match"
        measure = "bit-exact" if check.rule == "exact" else "within tolerance"
        return Text.assemble(
            ("  ✓ verified", GOOD),
            f": {good} of {plural(check.samples, 'sample')} {verb} {reference}, {measure}",
        )
    lines = [
        f": {check.failed} of {plural(check.samples, 'sample')}"
        f" ({plural(check.mismatches, 'element')}) differ from {reference}"
    ]
    if check.first is not None:
        lines.append(f"    first op that differs: {check.first}")
    return Text.assemble(("  ✗ NOT verified", BAD), "\n".join(lines))


def _quality(accuracy: Accuracy | None, fidelity: Fidelity | None) -> Iterator[str]:
    """What quantisation costs: accuracy if there are labels, otherwise decibels."""
    if accuracy is not None:
        shares = {
            "float": accuracy.float,
            "int8": accuracy.reference,
            "on the device": accuracy.device,
        }
        known = [f"{who} {percent(x)}" for who, x in shares.items() if x is not None]
        counted = plural(accuracy.samples, "sample")
        yield text.entry("accuracy", f"{', '.join(known)} ({counted})")
    elif fidelity is not None:
        agreeing = round(fidelity.agreement * fidelity.samples)
        snr = "no error" if isinf(fidelity.snr_db) else f"SNR {fidelity.snr_db:.1f} dB"
        yield text.entry(
            "accuracy",
            f"{snr}, largest output agrees on {agreeing:,} of {fidelity.samples:,}",
        )


def _facts(run: RunResult) -> Iterator[str]:
    if run.best:
        scores = (f"{score.label} {score.value:.3g}" for score in run.best)
        yield text.entry(f"top-{len(run.best)}", "   ".join(scores))
    yield from port_lines(run.inputs, run.outputs)
    yield text.entry("work", _work(run))
    if run.cycles is not None:
        yield text.entry("time", _time(run.cycles))
    elif run.uncounted is not None:
        yield text.entry("time", f"not counted: {run.uncounted}")
    yield from memory_lines(run.memory)


def port_lines(inputs: Sequence[PortResult], outputs: Sequence[PortResult]) -> Iterator[str]:
    """Inputs and outputs, one line each."""
    for port in inputs:
        yield text.entry("input", _port(port))
    for port in outputs:
        yield text.entry("output", _port(port))


def memory_lines(memory: MemoryUse) -> Iterator[str]:
    """How much of a board's memory is used."""
    flash, ram = memory.flash, memory.ram
    parts = f"{size(flash.weights)} weights + {size(flash.code)} code"
    yield text.entry("flash", parts + _of(flash.capacity))
    state = f" ({size(ram.state)} of it state)" if ram.state else ""
    parts = f"{size(ram.arena)} arena{state} + {size(ram.static)} static"
    if ram.stack is not None:
        parts += f" + {size(ram.stack)} stack"
    yield text.entry("RAM", parts + _of(ram.capacity))
    if ram.pools:
        uses = (f"{pool.name} {pool.used:,} of {pool.size:,} B" for pool in ram.pools)
        yield text.entry("pools", ", ".join(uses))


def _port(port: PortResult) -> str:
    words = [port.name, port.dtype, shape(port.shape)]
    if port.layout != "contiguous":
        words.append(port.layout)
    if port.scale is not None and port.zero_point is not None:
        inside = "" if port.dtype.startswith("int") else "int8 inside: "
        words.append(f"({inside}scale {port.scale:.4g}, zero point {port.zero_point})")
    return " ".join(words)


def _work(run: RunResult) -> str:
    total = run.instructions.total
    macs = f"{count(run.macs)} MACs"
    if not total:
        return f"{macs}; {run.instructions.provenance}"
    unit, source = run.instructions.unit, run.instructions.provenance
    if unit == "instructions":
        source += ", not cycles"
    if not run.macs:
        return f"{count(total)} {unit} ({source})"
    ratio = f"{run.macs / total:.2f} MAC/{unit.removesuffix('s')}"
    return f"{macs} in {count(total)} {unit}, {ratio} ({source})"


def _time(cycles: Cycles) -> str:
    """`≈ 172 ms at 120 MHz (20.7 M cycles, model of the Cortex-M4, zero wait states, ±3 %)`"""
    error = "not validated" if cycles.error_percent is None else f"±{cycles.error_percent} %"
    facts = f"{cycles.provenance}, {error}"
    if cycles.unknown:
        facts += f", without {', '.join(cycles.unknown[:3])}"
    if cycles.milliseconds is None or cycles.clock_hz is None:
        return f"≈ {_millions(cycles.total)} cycles ({facts})"
    clock = f"{cycles.clock_hz / 1e6:.3g} MHz"
    total = _millions(cycles.total)
    return f"≈ {_duration(cycles.milliseconds)} at {clock} ({total} cycles, {facts})"


def _duration(milliseconds: float) -> str:
    if milliseconds < 1000:
        return f"{milliseconds:.3g} ms"
    return f"{milliseconds / 1000:.3g} s"


def _millions(number: int) -> str:
    """Three digits of a number, or all of a small one."""
    return f"{number / 1e6:.3g} M" if number >= 100_000 else f"{number:,}"


def _of(capacity: int | None) -> str:
    return "" if capacity is None else f", of {size(capacity)}"


@dataclass(frozen=True, slots=True)
class _Group:
    """Kernel calls of ops with the same title."""

    title: str
    calls: int
    instructions: int
    macs: int


def _groups(ops: Sequence[OpCount]) -> list[_Group]:
    """By title, the most expensive first."""
    titles: dict[str, list[OpCount]] = {}
    for op in ops:
        titles.setdefault(op.title, []).append(op)
    groups = [
        _Group(title, len(same), sum(op.instructions for op in same), sum(op.macs for op in same))
        for title, same in titles.items()
    ]
    return sorted(groups, key=lambda group: -group.instructions)


def _table(instructions: Instructions) -> Iterator[Text]:
    groups = _groups(instructions.per_op)
    if not instructions.total or not groups:
        return
    yield Text()
    unit = instructions.unit
    ratio = "MAC/instr" if unit == "instructions" else "MAC/cycle"
    yield Text(f"  {'op':<26}{'n':>4}{unit:>15}   share   {ratio}", FAINT)
    whole = max(1, sum(group.instructions for group in groups))
    for group in islice(groups, _OPS):
        share = group.instructions / whole
        # A slow clock may not tick during a small op.
        is_rated = group.macs and group.instructions
        ratio = f"{group.macs / group.instructions:.1f}" if is_rated else ""
        row = (
            f"  {text.fit(group.title, 26):<26}{group.calls:>4}"
            f"{count(group.instructions):>15}{share:>7.0%}{ratio:>12}   "
        )
        yield Text(row + text.bar(share, text.WIDTH - len(row)))
    if rest := groups[_OPS:]:
        counted = sum(group.instructions for group in rest)
        calls = sum(group.calls for group in rest)
        yield Text(f"  {'others':<26}{calls:>4}{count(counted):>15}{counted / whole:>7.0%}")
