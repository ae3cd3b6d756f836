"""Files for the folders of users: never written over what others made or changed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cmbuild.errors import UsageError
from cmbuild.files import put, unwritable
from cmbuild.outputs.ledger import Ledger

Content = bytes | Path
"""Content of a file: its bytes, or another file that has them."""

_MOST_NAMES = 8


class NotOverwritten(UsageError):
    template = "would overwrite {files}"
    hint = "--force overwrites; or name another place"


@dataclass(frozen=True, slots=True)
class Destination:
    """A folder of the user's.

    Attributes:
        force: write over files that others made or changed, too.
    """

    folder: Path
    force: bool = False

    def put(self, files: Mapping[str, Content]) -> None:
        """Writes files by their names; see `deliver`."""
        folder = self.folder.absolute()
        deliver({folder / name: content for name, content in files.items()}, self.force)


def deliver(
    files: Mapping[Path, Content],
    force: bool = False,
    *,
    own: Mapping[Path, str] | None = None,
    obsolete: Collection[Path] = (),
) -> None:
    """Writes files, all or none of them.

    A file that exists is written over only if it is unchanged since cmbuild wrote it. One that
    already has the content stays as it is.

    Args:
        force: write over any file.
        own: digests of files that cmbuild wrote, by a record that they carry themselves.
        obsolete: files of an earlier delivery, to be removed.

    Raises:
        NotOverwritten: some of them, written or obsolete, others made or changed.
        UsageError: a folder, or a file in place of a folder, is in the way.
        NotWritable, NoSpace: one cannot be written.
    """
    known = _Known(Ledger(), own or {})
    check_places(files)
    due = {path: content for path, content in files.items() if not _holds(path, content)}
    if not force:
        known.check([*due, *obsolete])
    for path, content in due.items():
        data = content.read_bytes() if isinstance(content, Path) else content
        if _is_device(path):
            _stream(path, data)
        else:
            known.enter(path, data)
            put(path.resolve(), data)
    for file in obsolete:
        _remove(file)


def check_delivery(files: Iterable[Path | None], force: bool = False) -> None:
    """Finds out before any work that files could not be written; raises as `deliver`."""
    wanted = [file for file in files if file is not None]
    check_places(wanted)
    for number, file in enumerate(wanted):
        others = {each.resolve() for each in wanted[:number]}
        if file.resolve() in others and not _is_device(file):
            raise UsageError(message=f"{file} is named for two outputs", hint="name two files")
    if not force:
        _Known(Ledger(), {}).check(wanted)


def check_places(files: Iterable[Path]) -> None:
    """Raises UsageError if a file's place is a folder, or lies in something that is not one."""
    for file in files:
        try:
            if file.is_dir():
                raise UsageError(message=f"{file} is a folder", hint="name a file")
            parents = file.absolute().parents
            place = next(parent for parent in parents if os.path.lexists(parent))
            if not place.is_dir():
                raise UsageError(message=f"{place} is not a folder", hint="name another one")
        except OSError as error:
            raise unwritable(file, error) from error


def digest_of(file: Path) -> str | None:
    """The SHA-256 of a file; None if there is no file."""
    try:
        return _digest(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unwritable(file, error) from error


@dataclass(frozen=True, slots=True)
class _Known:
    """A record of the files that cmbuild wrote."""

    ledger: Ledger
    own: Mapping[Path, str]

    def check(self, files: Iterable[Path]) -> None:
        """Raises NotOverwritten if others made or changed some of them."""
        others: list[Path] = []
        changed: list[Path] = []
        for file in files:
            digest = None if _is_device(file) else digest_of(file)
            if digest is None or self._is_own(file, digest):
                continue
            is_known = file in self.own or self.ledger.has(file.resolve())
            (changed if is_known else others).append(file)
        parts = ((others, "not written by cmbuild"), (changed, "changed since cmbuild wrote it"))
        named = [f"{', '.join(_named(part))} ({reason})" for part, reason in parts if part]
        if named:
            raise NotOverwritten(files="; ".join(named))

    def enter(self, file: Path, data: bytes) -> None:
        """Notes what is about to be written."""
        before = digest_of(file)
        is_own = before is not None and self._is_own(file, before)
        self.ledger.enter(file.resolve(), before if is_own else None, _digest(data))

    def _is_own(self, file: Path, digest: str) -> bool:
        return self.own.get(file) == digest or self.ledger.knows(file.resolve(), digest)


def _holds(path: Path, content: Content) -> bool:
    """Whether a file has this content already."""
    try:
        size = path.stat().st_size
        if not path.is_file() or size != _size(content):
            return False
        data = content.read_bytes() if isinstance(content, Path) else content
        return path.read_bytes() == data
    except OSError:
        return False


def _size(content: Content) -> int:
    return content.stat().st_size if isinstance(content, Path) else len(content)


def _is_device(path: Path) -> bool:
    """Whether it is a stream such as /dev/stdout, which holds nothing."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _stream(path: Path, data: bytes) -> None:
    try:
        # A pipe without a reader would wait for one forever.
        number = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK)
        os.set_blocking(number, True)
        with os.fdopen(number, "wb") as file:
            file.write(data)
    except OSError as error:
        raise unwritable(path, error) from error


def _remove(file: Path) -> None:
    """Removes a file, and its folders that are empty then."""
    try:
        file.unlink(missing_ok=True)
        for folder in file.parents:
            if any(folder.iterdir()):
                break
            folder.rmdir()
    except OSError as error:
        raise unwritable(file, error) from error


def _named(files: Sequence[Path]) -> Iterator[str]:
    """Their names as seen from the current folder."""
    for file in files[:_MOST_NAMES]:
        below = os.path.relpath(file)
        yield str(file) if below.startswith("..") else below
    if len(files) > _MOST_NAMES:
        yield f"{len(files) - _MOST_NAMES} more"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
