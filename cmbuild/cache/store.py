"""Folders that are complete or absent: results on disk that a killed build cannot spoil."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from cmbuild.cache.folders import remove
from cmbuild.errors import CmbuildError, Interrupted
from cmbuild.files import unwritable

STAMP = "stamp"
"""The file of an entry that says what it was made from and what it holds; written last."""

_STAMP = re.compile(rb"[^\n]+\n[0-9a-f]{64}")


class Condition(Enum):
    """Whether an entry can be used."""

    ABSENT = "absent"
    """Absent, or made from something else."""
    DAMAGED = "damaged"
    """Made from the same inputs, but its content has changed since."""
    USELESS = "useless"
    """As it was stored, but not readable as a result: another machine may have stored it."""
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Entry:
    """A folder with a result, and a stamp: what it was made from, and the digest of its files."""

    folder: Path

    def condition(self, fingerprint: str) -> Condition:
        """Reads every byte of the result: sizes and times do not reveal bit rot."""
        try:
            stamp = (self.folder / STAMP).read_bytes()
        except OSError:
            return Condition.DAMAGED if self._has_content() else Condition.ABSENT
        made_from, _, content = stamp.partition(b"\n")
        if made_from != fingerprint.encode():
            return Condition.ABSENT if _STAMP.fullmatch(stamp) else Condition.DAMAGED
        try:
            is_whole = content == content_digest(self.folder).encode()
        except OSError:
            is_whole = False
        return Condition.WHOLE if is_whole else Condition.DAMAGED

    def holds(self, fingerprint: str) -> bool:
        """Whether the result exists, was made from the same inputs, and is unchanged."""
        return self.condition(fingerprint) is Condition.WHOLE

    def _has_content(self) -> bool:
        try:
            return any(self.folder.iterdir())
        except OSError:
            return False

    @property
    def lock(self) -> Path:
        """The lock file to hold while replacing the entry."""
        return self.folder.with_name(f".{self.folder.name}.lock")

    @property
    def failed(self) -> Path:
        """The folder that the last failed attempt left, with its logs."""
        return self.folder.with_name(f"{self.folder.name}.failed")

    @contextmanager
    def replace(self, fingerprint: str) -> Iterator[Path]:
        """An empty folder to fill; on success it becomes the entry, in one rename.

        The caller holds the entry's lock. Remains of killed predecessors are removed. After an
        error, the folder becomes `failed`, and paths in the error are updated.

        Raises:
            NotWritable, NoSpace: the folder cannot be made.
        """
        name, root = self.folder.name, self.folder.parent
        fresh = self.folder.with_name(f".{name}.{uuid.uuid4().hex}.tmp")
        try:
            fresh.mkdir(parents=True)
        except OSError as error:
            raise unwritable(self.folder.parent, error) from error
        try:
            for stale in self.folder.parent.glob(f".{name}.*.tmp"):
                if stale != fresh:
                    remove(stale, root)
            try:
                yield fresh
            except CmbuildError as error:
                if not isinstance(error, Interrupted):
                    remove(self.failed, root)
                    fresh.rename(self.failed)
                    error.moved(fresh, self.failed)
                raise
            remove(self.failed, root)
            (fresh / STAMP).write_text(f"{fingerprint}\n{content_digest(fresh)}")
            if self.folder.exists():
                # A folder cannot be renamed over a full one. Between the two renames there is
                # no entry, which the next build handles.
                self.folder.rename(fresh.with_name(f".{name}.{uuid.uuid4().hex}.tmp"))
            fresh.rename(self.folder)
        finally:
            for leftover in self.folder.parent.glob(f".{name}.*.tmp"):
                remove(leftover, root)


def content_digest(folder: Path) -> str:
    """The digest of all files below a folder with their names, except the stamp."""
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != folder / STAMP:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return total.hexdigest()
