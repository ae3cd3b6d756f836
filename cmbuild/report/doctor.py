"""The tools found and missing on this machine, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from cmbuild.doctor.components import Component, Status
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document
from cmbuild.report.text import fit
from cmbuild.report.text import width as columns
from cmbuild.text import plural

_MARKS = {
    Status.PRESENT: ("✓", "green"),
    Status.OPTIONAL: ("–", "dim"),
    Status.MISSING: ("✗", "red"),
    Status.UNUSABLE: ("✗", "red"),
}


class DoctorDocument(Document):
    components: tuple[Component, ...]


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """Implements Report."""

    components: Sequence[Component]

    def screen(self) -> Text:
        names = [_name(component) for component in self.components]
        width = max(map(len, names))
        lines = []
        for component, name in zip(self.components, names, strict=True):
            mark, style = _MARKS[component.status]
            place = str(component.path or "not found")
            rest = f"{name:<{width}}  {component.needed_by}"
            lines.append(Text.assemble("  ", (mark, style), f" {fit(rest, columns() - 4)}"))
            if component.problem:
                lines.append(Text(f"      {component.problem}", style))
            lines.append(Text(f"      {place}", "dim"))
            if component.status is not Status.PRESENT and component.install:
                lines.append(Text(f"      {component.install}"))
        lacking = sum(component.is_lacking for component in self.components)
        lines.append(Text(f"  {plural(lacking, 'thing')} missing" if lacking else self._complete()))
        return Text("\n").join(lines)

    def _complete(self) -> str:
        torch = next((each for each in self.components if each.name == "torch"), None)
        if torch is None or torch.status is Status.PRESENT:
            return "  all there"
        return "  all there to run programs; models in PyTorch need the packages of export"

    def document(self, steps: Sequence[StepOutcome]) -> DoctorDocument:
        return DoctorDocument.model_validate(self)


def _name(component: Component) -> str:
    return f"{component.name} {component.version or ''}".rstrip()
