"""The files that cmbuild wrote into folders of users, by place, each with its digest."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from cmbuild.cache.folders import ledger
from cmbuild.errors import CmbuildError
from cmbuild.files import write

_LENGTH = 40  # hex digits of a file's name: more than any two places share


class Ledger:
    """One small file below the cache for each place.

    Nothing else can tell a file of cmbuild's from one of its user's, so `clean --cache` keeps them.
    Without its entry a file counts as the user's: the safe side.
    """

    def knows(self, file: Path, digest: str) -> bool:
        """Whether the file's content is what cmbuild wrote there."""
        return digest in self._digests(file)

    def has(self, file: Path) -> bool:
        """Whether cmbuild ever wrote a file there."""
        return bool(self._digests(file))

    def enter(self, file: Path, before: str | None, after: str) -> None:
        """Notes what is about to be written, so that a killed write leaves a file that is known.

        Args:
            before: the digest of cmbuild's own earlier file at this place, if there is one.
        """
        digests = [digest for digest in (before, after) if digest is not None]
        entry = json.dumps({"file": str(file), "sha256": digests}) + "\n"
        with suppress(CmbuildError):  # the cache cannot be written
            write(self._entry(file), entry)

    def _digests(self, file: Path) -> list[str]:
        try:
            entry = json.loads(self._entry(file).read_bytes())
            return [each for each in entry["sha256"] if isinstance(each, str)]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return []

    def _entry(self, file: Path) -> Path:
        name = hashlib.sha256(str(file).encode("utf-8", "surrogateescape")).hexdigest()[:_LENGTH]
        return ledger() / name[:2] / name[2:]
