"""The forms of a model side by side, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from cmbuild.accuracy import EvalResult, EvalRow, LayerCost
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report import text
from cmbuild.report.documents import ResultDocument, document_of
from cmbuild.report.faithfulness import verdict_lines
from cmbuild.report.fidelity import basis_text, decibels, noise, worst_element
from cmbuild.report.mix import mix_lines
from cmbuild.text import percent, plural, rate

_LAYERS = 12  # rows of the table of layers


EvalDocument = document_of(
    EvalResult,
    "eval",
    forms={"forms": tuple[EvalRow, ...], "faithful": bool | None},
    faithfulness={},
)


@dataclass(frozen=True, slots=True)
class EvalReport:
    """Implements Report."""

    result: EvalResult

    def screen(self) -> Text:
        result = self.result
        device = f" and {result.board}" if result.board else ""
        basis = basis_text(result)
        samples = plural(result.samples, "sample") + (f" ({basis})" if basis else "")
        title = f"  {result.model} on {samples}{device}"
        lines = [Text(title), Text(), *map(Text, _forms(result.forms, result.samples))]
        if result.mix is not None:
            lines += [Text(), *map(Text, mix_lines(result.mix))]
        if result.faithfulness is not None:
            lines += [Text(), *verdict_lines(result.faithfulness)]
        if result.warnings:
            lines += [Text(), *(Text(text.warning(each), "yellow") for each in result.warnings)]
        if result.layers:
            lines += [Text(), *map(Text, _layers(result.layers))]
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> ResultDocument:
        check = self.result.faithfulness
        return EvalDocument.of(
            self.result, steps, faithful=None if check is None else check.faithful
        )


def _forms(rows: Sequence[EvalRow], samples: int) -> Iterator[str]:
    cells = [
        (
            row.form,
            _accuracy(row, samples),
            noise(row.outputs) if row.outputs else "",
            _answers(row, samples),
        )
        for row in rows
    ]
    compared = next((row for row in rows if row.outputs), None)
    title = "largest output agrees with float's"
    if compared is not None and compared.agreement is None:
        title = "worst element"
    elif compared is not None and compared.outputs[0].is_integer:
        title = "output equals float's"
    # A figure that no form has, such as SNR without a float model, gets no column.
    columns = zip(("form", "accuracy", "SNR", title), *cells, strict=True)
    (_, *forms), *figures = (column for column in columns if any(column[1:]))
    header = ("", *(name for name, *_ in figures))
    yield text.table(header, list(zip(forms, *(each for _, *each in figures), strict=True)))


def _answers(row: EvalRow, samples: int) -> str:
    if row.agreement is not None:
        return rate(row.agreement, samples)
    return worst_element(row.outputs) if row.outputs else ""


def _accuracy(row: EvalRow, samples: int) -> str:
    if row.accuracy is None or row.interval is None:
        return "" if row.accuracy is None else rate(row.accuracy, samples)
    low, high = row.interval
    return f"{percent(row.accuracy, 2)} ({percent(low, 2)} to {percent(high, 2)}, 95 %)"


def _layers(layers: Sequence[LayerCost]) -> Iterator[str]:
    cells = [(decibels(each.snr_db), each.name, _place(each)) for each in layers[:_LAYERS]]
    yield text.table(("SNR", "with this operator alone in int8", ""), cells)
    if more := len(layers) - _LAYERS:
        yield from [f"  and {more} more"] if more > 0 else []


def _place(layer: LayerCost) -> str:
    return "" if layer.file is None else f"{Path(layer.file).name}:{layer.line}"
