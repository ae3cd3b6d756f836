"""texts: each stage from the module to the plan as text, in a folder of the user's."""

from __future__ import annotations

from pathlib import Path

from cmbuild.cache.store import Entry
from cmbuild.files import copy
from cmbuild.outputs.delivery import Destination
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.pipeline.stages.stage import RepeatedStage, StageKind
from cmbuild.text import plural


class TextsStage(RepeatedStage):
    """Copies the texts of the export, if there was one, and of the plan to the user."""

    kind = StageKind.TEXTS
    verb = "written"

    def __init__(self, plan: PlanStage, wanted: Destination, folder: Path) -> None:
        """
        Args:
            wanted: the user's folder.
        """
        self.name = plan.name
        self.subject = plan.source.name
        self.after = (plan,)
        self._plan = plan
        self._wanted = wanted
        self._folder = folder
        self._count = 0

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "texts")

    def make(self, folder: Path) -> None:
        from cmcompiler.emit.listing import listing

        export = self._plan.source.export
        texts = [] if export is None else export.texts
        for file in texts:
            copy(file, folder / file.name)
        plan = folder / f"{len(texts):02}-plan.txt"
        plan.write_text(listing(self._plan.record), encoding="utf-8")
        self._wanted.put({file.name: file for file in (*texts, plan)})
        self._count = len(texts) + 1

    def summary(self) -> str:
        return f"{plural(self._count, 'file')} in {self._wanted.folder}"
