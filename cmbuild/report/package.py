"""A package, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from cmbuild.files import copy
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report.documents import Document, PortDocument, StepDocument, WeightsDocument
from cmbuild.report.screen import port_lines, shown
from cmbuild.report.text import entry
from cmbuild.report.weights import weights_lines
from cmbuild.results import PortResult, WeightsResult
from cmbuild.text import plural, size

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.package import Manifest, PackageStage


class PackageDocument(Document):
    model: str
    target: str
    isa: str
    identity: str
    samples: int
    weights: WeightsDocument
    inputs: tuple[PortDocument, ...]
    outputs: tuple[PortDocument, ...]
    constant_bytes: int
    arena_bytes: int
    steps: tuple[StepDocument, ...]
    artifacts: dict[str, str]


@dataclass(frozen=True, slots=True)
class PackageReport:
    """Implements Report.

    Attributes:
        folder: of the package, where the user will look for it.
    """

    manifest: Manifest
    weights: WeightsResult
    inputs: tuple[PortResult, ...]
    outputs: tuple[PortResult, ...]
    constant_bytes: int
    arena_bytes: int
    folder: Path

    def screen(self) -> Text:
        found = self.manifest
        lines = [
            *weights_lines(self.weights),
            *map(Text, port_lines(self.inputs, self.outputs)),
            Text(entry("flash", f"{size(self.constant_bytes)} weights")),
            Text(entry("RAM", f"{size(self.arena_bytes)} arena")),
            Text(entry("vectors", plural(found.samples, "sample"))),
            Text(entry("package", f"{shown(self.folder)}/, for {found.target} {found.isa}")),
        ]
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> PackageDocument:
        found = self.manifest
        named = ("model", "target", "isa", "identity", "samples")
        own = ("weights", "inputs", "outputs", "constant_bytes", "arena_bytes")
        return PackageDocument.model_validate(
            {
                **{name: getattr(found, name) for name in named},
                **{name: getattr(self, name) for name in own},
                "steps": [StepDocument.of(step) for step in steps],
                "artifacts": {"package": str(self.folder)},
            }
        )


def package_report(package: PackageStage, output_dir: Path | None) -> PackageReport:
    """What a package holds; copies it into a folder of the user's, if there is one.

    Raises:
        NotWritable, NoSpace: that folder.
    """
    folder = package.entry.folder
    if output_dir is not None:
        folder = output_dir.absolute()
        for file in package.files():
            copy(package.entry.folder / file, folder / file)
    plan = package.plan
    return PackageReport(
        package.manifest,
        plan.source.weights,
        plan.inputs,
        plan.outputs,
        plan.record.constant_bytes,
        plan.record.arena_bytes,
        folder,
    )
