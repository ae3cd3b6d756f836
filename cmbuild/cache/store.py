"""Folders that are whole or not there: results on disk that a killed build cannot spoil."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cmbuild.disk import unwritable
from cmbuild.errors import CmbuildError, Interrupted

STAMP = "stamp"
"""The file of an entry that holds the fingerprint it was made for; written last."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A folder with a result and a stamp that says what it was made from."""

    folder: Path

    def holds(self, fingerprint: str) -> bool:
        """Whether the result is there and was made from just this."""
        try:
            return (self.folder / STAMP).read_bytes() == fingerprint.encode()
        except (FileNotFoundError, NotADirectoryError):
            return False

    @property
    def lock(self) -> Path:
        """The lock file to hold while replacing the entry."""
        return self.folder.with_name(f".{self.folder.name}.lock")

    @property
    def failed(self) -> Path:
        """What the last attempt that failed has left, with its logs."""
        return self.folder.with_name(f"{self.folder.name}.failed")

    @contextmanager
    def replace(self, fingerprint: str) -> Iterator[Path]:
        """An empty folder to fill; on success it becomes the entry, in one rename.

        The caller holds the entry's lock. What a killed predecessor left behind is removed. When
        an error ends the work, the folder becomes `failed`, and the paths in the error follow it.

        Raises:
            NotWritable, NoSpace: the folder cannot be made.
        """
        name = self.folder.name
        fresh = self.folder.with_name(f".{name}.{uuid.uuid4().hex}.tmp")
        try:
            fresh.mkdir(parents=True)
        except OSError as error:
            raise unwritable(self.folder.parent, error) from error
        try:
            for stale in self.folder.parent.glob(f".{name}.*.tmp"):
                if stale != fresh:
                    shutil.rmtree(stale)
            try:
                yield fresh
            except CmbuildError as error:
                if not isinstance(error, Interrupted):
                    shutil.rmtree(self.failed, ignore_errors=True)
                    fresh.rename(self.failed)
                    error.moved(fresh, self.failed)
                raise
            shutil.rmtree(self.failed, ignore_errors=True)
            (fresh / STAMP).write_text(fingerprint)
            if self.folder.exists():
                # A folder cannot be renamed over a full one. Between the two renames there is
                # no entry, which is a state that the next build understands.
                self.folder.rename(fresh.with_name(f".{name}.{uuid.uuid4().hex}.tmp"))
            fresh.rename(self.folder)
        finally:
            for leftover in self.folder.parent.glob(f".{name}.*.tmp"):
                shutil.rmtree(leftover, ignore_errors=True)
