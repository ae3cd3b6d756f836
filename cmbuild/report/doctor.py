"""The tools found and missing on this machine, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.text import Text

from cmbuild.doctor.components import Component, Status
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document
from cmbuild.report.text import fit, indented
from cmbuild.report.text import width as columns
from cmbuild.text import plural

_MARKS = {
    Status.PRESENT: ("✓", "green"),
    Status.OPTIONAL: ("–", "dim"),
    Status.MISSING: ("✗", "red"),
    Status.UNUSABLE: ("✗", "red"),
}


class DoctorDocument(Document):
    verbs = ("doctor",)
    components: tuple[Component, ...]


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """Implements Report.

    Attributes:
        everything: with the place of what was found, and a hint for each component that was not.
    """

    components: Sequence[Component]
    everything: bool = False

    def screen(self) -> Text:
        lines = [*(self._whole() if self.everything else self._short())]
        lacking = sum(component.is_lacking for component in self.components)
        lines.append(Text(f"  {plural(lacking, 'thing')} missing" if lacking else self._complete()))
        return Text("\n").join(lines)

    def _short(self) -> Iterator[Text]:
        """A line each, and a hint that components in succession share once."""
        for hint, group in groupby(self.components, _remedy):
            members = list(group)
            yield from map(self._line, members)
            yield from (Text(indented(each.problem, 6)) for each in members if each.problem)
            if hint:
                yield Text(indented(hint, 6))

    def _whole(self) -> Iterator[Text]:
        for component in self.components:
            yield self._line(component)
            if component.problem:
                yield Text(indented(component.problem, 6))
            yield Text(f"      {component.path or 'not found'}", "dim")
            if hint := _remedy(component):
                yield Text(indented(hint, 6))

    def _line(self, component: Component) -> Text:
        """`  ✓ cmake 3.25.1    every board`"""
        mark, style = _MARKS[component.status]
        width = max(map(len, map(_name, self.components)))
        rest = f"{_name(component):<{width}}  {component.needed_by}"
        return Text.assemble("  ", (mark, style), f" {fit(rest, columns() - 4)}")

    def _complete(self) -> str:
        torch = next((each for each in self.components if each.name == "torch"), None)
        if torch is None or torch.status is Status.PRESENT:
            return "  all there"
        return "  all there to run programs; models in PyTorch need the packages of export"

    def document(self, steps: Sequence[StepOutcome]) -> DoctorDocument:
        return DoctorDocument.model_validate(self)


def _remedy(component: Component) -> str:
    """How to install what is not found or cannot be used; empty otherwise."""
    return "" if component.status is Status.PRESENT else component.install


def _name(component: Component) -> str:
    return f"{component.name} {component.version or ''}".rstrip()
