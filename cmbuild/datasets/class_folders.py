"""Data sets as people keep them: a folder for each class, with a file for each sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cmbuild.datasets.chunks import Labelled
from cmbuild.errors import UsageError
from cmbuild.verify.samples import read_input

if TYPE_CHECKING:
    from cmcompiler.frontend.images import ImageInput
    from cmcompiler.plan.record import PortRecord

_HINT = "one folder for each class, with .npy files or images"


@dataclass(frozen=True, slots=True)
class ClassFolders:
    """
    Attributes:
        labels: the class of each folder.
        files: of all of them, shuffled, so that the first ones are a fair sample.
    """

    files: Sequence[Path]
    labels: dict[Path, int]

    @classmethod
    def find(cls, root: Path, classes: Sequence[str]) -> ClassFolders:
        """
        Args:
            classes: of the model, if they are known. Otherwise folders with numbers as names are
                these classes, and others are counted in the order of their names.

        Raises:
            UsageError: no folders, one that is not a class, or no files in them.
        """
        folders = sorted(path for path in root.iterdir() if path.is_dir() and _counts(path))
        if not folders:
            raise UsageError(message=f"{root} has no folders of classes", hint=_HINT)
        labels = _labels(folders, classes)
        files = [
            path
            for folder in folders
            for path in sorted(folder.iterdir())
            if path.is_file() and _counts(path)
        ]
        if not files:
            raise UsageError(message=f"the folders in {root} hold no files", hint=_HINT)
        order = np.random.default_rng(0).permutation(len(files))
        return cls([files[index] for index in order], labels)

    def samples(self, port: PortRecord, image: ImageInput | None) -> Iterator[Labelled]:
        """
        Args:
            port: the model's only input.

        Raises:
            UsageError, CompilerError: a file that is not a sample.
        """
        for file in self.files:
            for array in read_input(file, port, image):
                yield (array,), self.labels[file.parent]


def _counts(path: Path) -> bool:
    return not path.name.startswith((".", "__"))


def _labels(folders: list[Path], classes: Sequence[str]) -> dict[Path, int]:
    known = {name.casefold(): number for number, name in enumerate(classes)}
    names = [folder.name for folder in folders]
    if known and all(name.casefold() in known for name in names):
        return {folder: known[folder.name.casefold()] for folder in folders}
    if all(name.isdecimal() for name in names):
        return {folder: int(folder.name) for folder in folders}
    if known:
        strange = next(name for name in names if name.casefold() not in known)
        few = ", ".join(classes[:5]) + (", …" if len(classes) > 5 else "")
        raise UsageError(
            message=f"{folders[0].parent / strange} is not a class of the model",
            hint=f"name folders as its classes: {few}; or by their numbers, from 0",
        )
    return {folder: number for number, folder in enumerate(folders)}
