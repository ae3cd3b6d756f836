"""Each stage of an export as text, written as it is reached: what there is of one that fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Note = Callable[[str, Any], None]
"""Takes the name of a stage, and its text, torch.fx.GraphModule or torch.export.ExportedProgram."""


def ignore(name: str, stage: Any) -> None:
    """The Note for when nobody asks."""


class Intermediates:
    """Files NN-name.txt in a folder.

    Attributes:
        texts: by file name.
    """

    def __init__(self, folder: Path, before: Mapping[str, str] | None = None) -> None:
        """
        Args:
            before: of stages that were done already, for another target.
        """
        self._folder = folder
        self.texts: dict[str, str] = {}
        for name, text in (before or {}).items():
            self._write(name, text)

    def note(self, name: str, stage: Any) -> None:
        """See Note."""
        text = stage if isinstance(stage, str) else _readable(stage)
        self._write(f"{len(self.texts):02}-{name}.txt", text)

    def _write(self, name: str, text: str) -> None:
        self.texts[name] = text
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / name).write_text(f"{text.strip()}\n", encoding="utf-8")


def _readable(stage: Any) -> str:
    """The code of a graph, with shapes and lines of the user's source, and its signature."""
    module = getattr(stage, "graph_module", stage)
    code: str = module.print_readable(print_output=False)
    signature = getattr(stage, "graph_signature", None)
    return code if signature is None else f"{code}\n\n{signature}"
