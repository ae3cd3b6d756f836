"""The screen at the end of a run: whether it is right, and what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from cmbuild.accuracy import Faithfulness
from cmbuild.cycles.results import Cycles, OpCycles
from cmbuild.pipeline.results import RunResult
from cmbuild.report import text
from cmbuild.report.faithfulness import faithful_text, fault_lines
from cmbuild.report.fidelity import fidelity_text
from cmbuild.report.floats import float_lines, lacking_lines
from cmbuild.report.layers import layer_lines
from cmbuild.report.mix import mix_lines
from cmbuild.report.weights import weights_lines
from cmbuild.report.words import ROW_BUFFERS, layout, plain
from cmbuild.results import ArenaResult, Instructions, MemoryUse, OpCount, PortResult, Verification
from cmbuild.text import FEW, activations, count, plural, rate, shape, size

GOOD, BAD, FAINT = "green", "red", "dim"
_OPS, _OPS_LEAST = 12, 5  # rows of the table of ops
_AROUND = 10  # lines of a terminal for the steps above, empty lines and the next prompt
_PORTS = 3  # inputs, and outputs, in lines of their own
_TITLE, _TITLE_LEAST = 26, 18  # columns for their titles
_BAR_LEAST = 8


def screen(run: RunResult, by_layer: bool = False) -> Text:
    """The facts of a run, most important first.

    Args:
        by_layer: with a table of all steps.
    """
    above = [
        _verdict(run.verification, run.faithfulness, _reference(run)),
        *fault_lines(run.faithfulness),
        *map(Text, _quality(run)),
        *weights_lines(run.weights),
        *(Text(text.warning(each), "yellow") for each in run.warnings),
        *map(Text, lacking_lines(run.lacking)),
        *float_lines(run.float, run.has_fpu),
        *(map(Text, mix_lines(run.mix)) if run.mix is not None else ()),
        Text(),
        *(Text(line) for line in _facts(run)),
    ]
    below = [Text(), Text(text.entry("artefacts", f"{shown(run.folder)}/"))]
    if by_layer:
        table = [Text(), *layer_lines(run.layers)]
    else:
        taken = sum(line.plain.count("\n") + 1 for line in above) + len(below) + 2
        table = list(_table(run.instructions, run.cycles, text.SCREEN - _AROUND - taken))
    return Text("\n").join([*above, *table, *below])


def shown(path: Path) -> Path:
    """A path as people would type it: relative if it is below the current folder."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _reference(run: RunResult) -> str:
    """Called what inputs and outputs of the program are quantised to, if any is."""
    ports = (*run.inputs, *run.outputs)
    is_quantised = any(port.scale is not None for port in ports)
    return f"the {_activations(run)} reference" if is_quantised else "the reference"


def _activations(run: RunResult) -> str:
    return activations(port.activations for port in (*run.inputs, *run.outputs))


def _verdict(check: Verification, faithful: Faithfulness, reference: str) -> Text:
    good = check.samples - check.failed
    if check.verified:
        measure = "bit-exact" if check.rule == "exact" else "within tolerance"
        mark, style = "✓ verified", GOOD
        facts = f"{good} of {plural(check.samples, 'sample')} {measure}"
        if faithful.faithful is not False:
            facts += f"; {faithful_text(faithful)}"
    else:
        mark, style = "✗ NOT verified", BAD
        facts = (
            f"{check.failed} of {plural(check.samples, 'sample')}"
            f" ({plural(check.mismatches, 'element')}) differ from {reference}"
        )
    lines = [text.indented(f"{mark}: {facts}", 2)]
    if check.first is not None:
        lines.append(text.indented(f"first op that differs: {check.first}", 4))
    verdict = Text("\n".join(lines))
    verdict.stylize(style, 2, 2 + len(mark))
    return verdict


def _quality(run: RunResult) -> Iterator[str]:
    """The loss by quantisation: accuracy if there are labels, otherwise decibels."""
    accuracy, fidelity = run.accuracy, run.fidelity
    if accuracy is not None:
        shares = {
            "float": accuracy.float,
            _activations(run): accuracy.reference,
            "on the device": accuracy.device,
        }
        number = accuracy.samples
        known = [f"{who} {rate(x, number)}" for who, x in shares.items() if x is not None]
        counted = (
            f"right, of {plural(number, 'sample')}" if number < FEW else plural(number, "sample")
        )
        yield text.entry("accuracy", f"{', '.join(known)} ({counted})")
    elif fidelity is not None:
        yield text.entry("accuracy", fidelity_text(fidelity))


def _facts(run: RunResult) -> Iterator[str]:
    if run.best:
        scores = (f"{score.label} {score.value:.3g}" for score in run.best)
        yield text.entry(f"top-{len(run.best)}", "   ".join(scores))
    yield from port_lines(run.inputs, run.outputs)
    yield text.entry("work", _work(run))
    measured = run.instructions.total if run.instructions.unit == "cycles" else None
    if measured and run.cycles is not None:
        yield text.entry("time", _measured(measured, run.cycles))
    elif run.cycles is not None:
        yield text.entry("time", _time(run.cycles))
        yield from _with_flash(run.cycles)
    elif run.uncounted is not None:
        yield text.entry("time", f"not counted: {run.uncounted}")
    yield from memory_lines(run.memory)


def port_lines(inputs: Sequence[PortResult], outputs: Sequence[PortResult]) -> Iterator[str]:
    """Inputs and outputs, the first few one line each."""
    for label, ports in (("input", inputs), ("output", outputs)):
        yield from (text.entry(label, _port(port)) for port in ports[:_PORTS])
        if more := ports[_PORTS:]:
            yield text.entry("", f"and {plural(len(more), label)} more: --json has them")


def memory_lines(memory: MemoryUse) -> Iterator[str]:
    """How much of a board's memory is used."""
    flash, ram = memory.flash, memory.ram
    parts = f"{size(flash.weights)} weights + {size(flash.code)} code"
    yield text.entry("flash", parts + _of(flash.capacity))
    state = f" ({size(ram.state)} of it state)" if ram.state else ""
    parts = f"{size(ram.arena)} arena{state} + {size(ram.static)} static"
    if ram.reserved:
        parts += f" + {size(ram.reserved)} stack"
    if ram.stack_problem is not None:
        parts += f", assumed because {ram.stack_problem}"
    if ram.stack is not None:
        parts += f" ({size(ram.stack)} used)" if ram.reserved else ""
    places = ((ram.code, "code"), (ram.weights, "weights"))
    if copied := [f"{size(part)} {name}" for part, name in places if part]:
        parts += f" + {' and '.join(copied)}, copied where RAM is to spare"
    yield text.entry("RAM", parts + _of(ram.capacity))
    if memory.arena is not None:
        yield text.entry("peak", _peak(memory.arena))
        yield text.entry("arena", _over_time(memory.arena))
    if ram.pools:
        uses = (f"{pool.name} {pool.used:,} of {pool.size:,} B" for pool in ram.pools)
        yield text.entry("pools", ", ".join(uses))


def _peak(arena: ArenaResult) -> str:
    """`54.3 KB at conv2d 1×1, step 7 of 69: tensors 36.8 KB, scratch 3.5 KB`"""
    use, total = arena.timeline[arena.peak.step], len(arena.timeline)
    kinds = {"tensors": use.tensors, ROW_BUFFERS: use.rings, "scratch": use.scratch}
    parts = ", ".join(f"{name} {size(bytes)}" for name, bytes in kinds.items() if bytes)
    where = f"{arena.peak.title}, step {arena.peak.step + 1} of {total}"
    return f"{size(arena.peak.bytes)} at {where}: {parts}"


def _over_time(arena: ArenaResult) -> str:
    """A column a step, as high as the bytes in use."""
    return text.profile([use.total for use in arena.timeline], text.width() - text.LABEL - 2)


def _port(port: PortResult) -> str:
    words = f"{port.name} {port.dtype} {shape(port.shape)}"
    if port.layout != "contiguous":
        words += f", {layout(port.layout)}"
    if port.feed == "rows":
        words += ", row by row"
    if port.scale is not None and port.zero_point is not None:
        inside = f"{port.activations} inside: " if port.dtype.startswith("float") else ""
        words += f" ({inside}scale {port.scale:.4g}, zero point {port.zero_point})"
    return words


def _work(run: RunResult) -> str:
    total = run.instructions.total
    left = "" if run.macs == run.whole_macs else f" of {count(run.whole_macs)}"
    macs = f"{count(run.macs)}{left} MACs"
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
    facts = cycles.basis
    if cycles.milliseconds is None or cycles.clock_hz is None:
        return f"≈ {_millions(cycles.total)} cycles ({facts})"
    clock = f"{cycles.clock_hz / 1e6:.3g} MHz"
    total, duration = _millions(cycles.total), _duration(cycles.milliseconds)
    if (slowest := cycles.slowest) is not None:
        total += f" to {_millions(slowest.total)}"
        duration = _span(cycles.milliseconds, slowest.milliseconds)
        facts += f"; the most if {slowest.assumes}"
    return f"≈ {duration} at {clock} ({total} cycles, {facts})"


def _with_flash(cycles: Cycles) -> Iterator[str]:
    """`≈ 157 ms at 120 MHz (18.8 M cycles with flash, 5 wait states, +25 %; ±3 %)`"""
    if cycles.without_flash is not None:
        yield text.entry("", f"with flash: not counted: {cycles.without_flash}")
    if (flash := cycles.with_flash) is None:
        return
    error = "not validated" if flash.error_percent is None else f"±{flash.error_percent} %"
    more = f"{100 * (flash.total / max(1, cycles.total) - 1):+.0f} %"
    facts = f"{_millions(flash.total)} cycles with flash, {plural(flash.wait_states, 'wait state')}"
    where = f"{_duration(flash.milliseconds)} at {flash.clock_hz / 1e6:.3g} MHz"
    yield text.entry("", f"≈ {where} ({facts}, {more}; {error})")


def _measured(total: int, estimate: Cycles) -> str:
    """`172 ms at 120 MHz (20.7 M cycles measured; 20.4 M, -1.4 %, by the model of the …, ±5 %)`"""
    difference = f"{100 * (estimate.total / total - 1):+.1f} %"
    facts = f"{_millions(total)} cycles measured; {_millions(estimate.total)}, {difference}, by the"
    facts += f" {estimate.basis}"
    if estimate.clock_hz is None:
        return facts
    milliseconds = total / estimate.clock_hz * 1e3
    return f"{_duration(milliseconds)} at {estimate.clock_hz / 1e6:.3g} MHz ({facts})"


def _span(least: float, most: float) -> str:
    """`172 to 240 ms`"""
    first, last = _duration(least), _duration(most)
    value, unit = first.split()
    return f"{value if last.endswith(f' {unit}') else first} to {last}"


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
    estimated: int | None


def _groups(ops: Sequence[OpCount], estimates: Sequence[OpCycles] = ()) -> list[_Group]:
    """By title, the most expensive first."""
    cycles: Counter[str] = Counter()
    for each in estimates:
        cycles[plain(each.title)] += each.cycles
    titles: dict[str, list[OpCount]] = {}
    for op in ops:
        titles.setdefault(plain(op.title), []).append(op)
    groups = [
        _Group(
            title,
            len(same),
            sum(op.instructions for op in same),
            sum(op.macs for op in same),
            cycles[title] if estimates else None,
        )
        for title, same in titles.items()
    ]
    return sorted(groups, key=lambda group: -group.instructions)


def _largest(groups: Sequence[_Group], room: int) -> list[_Group]:
    """As many as a screen has lines for, the last one for all others."""
    rows = max(_OPS_LEAST, min(_OPS, room))
    if len(groups) <= rows:
        return list(groups)
    first, rest = groups[: rows - 1], groups[rows - 1 :]
    estimates = [group.estimated for group in rest if group.estimated is not None]
    others = _Group(
        title="others",
        calls=sum(group.calls for group in rest),
        instructions=sum(group.instructions for group in rest),
        macs=0,
        estimated=sum(estimates) if estimates else None,
    )
    return [*first, others]


def _titles(groups: Sequence[_Group], room: int) -> int:
    """Columns for the titles: as many as they need, in what the other columns leave."""
    longest = max(len(group.title) for group in groups)
    return max(_TITLE_LEAST, min(max(_TITLE, longest), room))


def _narrow(groups: Sequence[_Group], unit: str) -> Iterator[Text]:
    """Titles, counts and shares alone."""
    whole = max(1, sum(group.instructions for group in groups))
    name = text.width() - 22
    yield Text(f"  {'op':<{name}}{unit:>13}  share", FAINT)
    for group in groups:
        share, title = group.instructions / whole, text.fit(group.title, name)
        yield Text(f"  {title:<{name}}{count(group.instructions):>13}{share:>7.0%}")


def _comparison(groups: Sequence[_Group]) -> Iterator[Text]:
    """The board's own counts beside those of the model."""
    yield Text()
    if text.width() < text.FEW_COLUMNS:
        yield from _narrow(groups, "measured")
        return
    name = _titles(groups, text.width() - 42)
    yield Text(f"  {'op':<{name}}{'n':>4}{'measured':>12}{'model':>12}{'difference':>12}", FAINT)
    for group in groups:
        estimated = group.estimated or 0
        off = f"{100 * (estimated / group.instructions - 1):+.1f} %" if group.instructions else ""
        title, measured = text.fit(group.title, name), count(group.instructions)
        row = f"  {title:<{name}}{group.calls:>4}{measured:>12}{count(estimated):>12}{off:>12}"
        yield Text(row.rstrip())


def _table(instructions: Instructions, cycles: Cycles | None, room: int) -> Iterator[Text]:
    """The most expensive kinds of ops, as many as there is room for, but a few at least."""
    if instructions.unit == "cycles" and cycles is not None and cycles.per_op:
        yield from _comparison(_largest(_groups(instructions.per_op, cycles.per_op), room))
        return
    groups = _largest(_groups(instructions.per_op), room)
    if not instructions.total or not groups:
        return
    yield Text()
    unit = instructions.unit
    ratio = "MAC/instr" if unit == "instructions" else "MAC/cycle"
    if text.width() < text.FEW_COLUMNS:
        yield from _narrow(groups, unit)
        return
    name = _titles(groups, text.width() - 43 - _BAR_LEAST)
    yield Text(f"  {'op':<{name}}{'n':>4}{unit:>15}   share   {ratio}", FAINT)
    whole = max(1, sum(group.instructions for group in groups))
    for group in groups:
        share = group.instructions / whole
        # A slow clock may not tick during a small op.
        is_rated = group.macs and group.instructions
        ratio = f"{group.macs / group.instructions:.1f}" if is_rated else ""
        row = (
            f"  {text.fit(group.title, name):<{name}}{group.calls:>4}"
            f"{count(group.instructions):>15}{share:>7.0%}{ratio:>12}   "
        )
        yield Text((row + text.bar(share, max(0, text.width() - len(row)))).rstrip())
