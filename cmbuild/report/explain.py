"""Where the cycles of an op go, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.cycles.explanation import TimedInstruction
from cmbuild.pipeline.events import StepOutcome
from cmbuild.pipeline.explaining import ExplainResult, PlacedBlock
from cmbuild.report import text
from cmbuild.report.documents import ResultDocument, document_of
from cmbuild.report.repeats import repeats
from cmbuild.text import count

ExplainDocument = document_of(
    ExplainResult, "explain", text="`cmbuild explain`; `op` counts from 1."
)


_LEAST_REASON = 8  # columns that a reason needs
_AROUND = 11  # lines for the steps above, empty lines, what is left out, and the next prompt


@dataclass(frozen=True, slots=True)
class ExplainReport:
    """Implements Report.

    Attributes:
        everything: shows all blocks, of however many lines.
    """

    result: ExplainResult
    everything: bool = False

    def screen(self) -> Text:
        lines = list(self._head())
        room = text.SCREEN - _AROUND - sum(line.plain.count("\n") + 1 for line in lines)
        for number, placed in enumerate(self.result.blocks):
            block = [Text(), *_block(placed)]
            if not self.everything and len(block) > room:
                if number == 0:
                    # The sum at its end tells how long it is.
                    lines += [*block[: room - 2], Text("  …"), block[-1]]
                lines.append(Text(f"  --blocks {len(self.result.blocks)} shows what is left out"))
                break
            lines += block
            room -= len(block)
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> ResultDocument:
        return ExplainDocument.of(self.result, steps)

    def _head(self) -> Iterator[Text]:
        result, layer = self.result, self.result.layer
        name = layer.title if layer.name == layer.title else f"{layer.name}, {layer.title}"
        kind = "" if layer.precision is None else f", {layer.precision}"
        place = f"{result.op} of {result.ops}: {name}{kind}"
        yield Text(text.entry("op", f"{place}, kernel {layer.kernel}"))
        taken = f"{count(result.cycles)} cycles, {result.share:.0%} of the inference"
        rate = f", {result.cycles / layer.macs:.2f} a MAC" if layer.macs else ""
        yield Text(text.entry("cycles", f"{taken}{rate} ({result.provenance})"))


def _block(placed: PlacedBlock) -> Iterator[Text]:
    block = placed.block
    place = placed.place or f"0x{block.address:08x}"
    loop = ", a loop" if block.after == block.address else ""
    yield Text(
        text.indented(
            f"{place}{loop}: {placed.share:.0%}, {count(round(block.cycles))} cycles in"
            f" {count(block.executions)} executions",
            2,
        ),
        "bold",
    )
    room = 30 if text.width() >= 80 else max(12, min(18, text.width() - 26))
    header = f"  {'address':<10} {'instruction':<{room}}{'issue':>6}{'stall':>6}  "
    has_reasons = text.width() - len(header) > _LEAST_REASON
    yield Text(header + "why" if has_reasons else header.rstrip(), "dim")
    for part in repeats(block.instructions):
        for each in part.first:
            yield Text(_instruction(each, room))
        if part.turns:
            what = "the instruction" if len(part.first) == 1 else f"these {len(part.first)}"
            label = f"  {f'{what}, {count(part.turns)} more times':<{11 + room}}"
            yield Text(f"{label}{_sums(part.more)}", "italic")
    yield Text(f"  {'':<10} {'':<{room}}{_sums(block.instructions)}", "dim")


def _sums(instructions: Sequence[TimedInstruction]) -> str:
    issued = sum(each.issue for each in instructions)
    return f"{issued:>6.4g}{sum(each.stall for each in instructions):>6.4g}"


def _instruction(each: TimedInstruction, room: int) -> str:
    start = (
        f"  {each.address:08x}   {text.fit(each.text, room - 1):<{room}}"
        f"{each.issue:>6.3g}{f'{each.stall:.3g}' if each.stall else '':>6}  "
    )
    left = text.width() - len(start)
    return (start + (text.fit(each.reason, left) if left > _LEAST_REASON else "")).rstrip()
