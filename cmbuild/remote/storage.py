"""The shared cache at a URL: looked up after the user's own, filled with what was made."""

from __future__ import annotations

import importlib.util
import os
import threading
import uuid
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from cmbuild.cache.store import STAMP
from cmbuild.errors import CmbuildError, Missing, UsageError
from cmbuild.remote.packing import NotPacked, pack, unpack
from cmbuild.remote.sealing import EntryAddress, EntryRefused, seal, unseal
from cmcompiler.installation import pip_command

URL, MODE, KEY = "CMBUILD_REMOTE_CACHE", "CMBUILD_REMOTE_CACHE_MODE", "CMBUILD_REMOTE_CACHE_KEY"
MODES = ("read", "write", "off")
"""`write` reads too."""

EXTRA = "remote"

_S3_SCHEMES = ("s3", "s3a")
# Limits of one attempt, in seconds: a cache that answers later is no help.
_S3 = {
    "config_kwargs": {"connect_timeout": 5, "read_timeout": 60, "retries": {"max_attempts": 1}},
    # Others write while a command runs.
    "use_listings_cache": False,
}


class NoFsspec(Missing):
    template = "the Python package {package} is not installed; the cache at {url} needs it"


class NoBackend(Missing):
    """fsspec has its own words for each kind of place."""

    template = "the cache at {url} needs Python packages that are not installed: {reason}"


class RemoteCache:
    """A shared cache. The first time that it cannot be reached, a line says so, and the command
    goes on without it. Safe to use from several threads.
    """

    def __init__(
        self,
        url: str,
        note: Callable[[str], None],
        *,
        writes: bool = True,
        key: bytes | None = None,
    ) -> None:
        """
        Args:
            url: of its root folder, of any scheme that fsspec knows.
            note: shows a line at once.
            key: signs entries; without a valid signature none is used then.
        """
        self._url = url
        self._note = note
        self._writes = writes
        self._key = key
        self._is_lost = False
        self._lock = threading.Lock()

    def holds(self, address: EntryAddress) -> bool:
        """Whether there is an entry, not yet checked."""
        return bool(self._attempt(lambda: self._files.exists(self._place(address))))

    def fetch(
        self,
        address: EntryAddress,
        folder: Path,
        inspect: Callable[[Path], None] = lambda folder: None,
    ) -> bool:
        """Fills an empty folder with an entry, and says whether it did.

        An entry that is damaged, unsigned or useless is not used, and a line says why.

        Args:
            inspect: raises anything for content that cannot be used.

        Raises:
            OSError: the folder cannot be written.
        """
        entry = self._attempt(lambda: self._read(self._place(address)))
        if entry is None:
            return False
        reason = None
        try:
            unpack(unseal(address, entry, self._key), folder)
        except EntryRefused as refusal:
            reason = str(refusal)
        except NotPacked:
            reason = "it is damaged"
        else:
            try:
                inspect(folder)
            except Exception:  # content of others raises anything
                reason = "its content cannot be used"
        if reason is not None:
            self._note(f"refused {address.path} of {self._url}: {reason}; made again")
        return reason is None

    def store(self, address: EntryAddress, folder: Path) -> None:
        """Puts a complete result there; replaces an entry that was refused."""
        if self._writes and not self._is_lost:
            entry = seal(address, pack(folder, without=[STAMP]), self._key)
            self._attempt(lambda: self._put(self._place(address), entry))

    def lacks(self, address: EntryAddress) -> bool:
        """Whether this machine may add an entry that is not there."""
        return self._writes and not self._is_lost and not self.holds(address) and not self._is_lost

    def _read(self, place: str) -> bytes | None:
        try:
            content: bytes = self._files.cat_file(place)
        except FileNotFoundError:
            return None
        return content

    def _put(self, place: str, entry: bytes) -> bool:
        self._files.makedirs(place.rpartition("/")[0], exist_ok=True)
        if "file" not in self._protocols:
            self._files.pipe_file(place, entry)  # appears whole
            return True
        fresh = f"{place}.{uuid.uuid4().hex}.tmp"
        self._files.pipe_file(fresh, entry)
        self._files.mv(fresh, place)
        return True

    def _attempt(self, work: Callable[[], Any]) -> Any:
        """The result of some work, or None if the cache cannot be reached."""
        if self._is_lost:
            return None
        try:
            return work()
        except CmbuildError:
            raise
        except Exception as error:  # every backend of fsspec has its own
            with self._lock:
                if not self._is_lost:
                    self._is_lost = True
                    reason = " ".join(str(error).split()) or type(error).__name__
                    if isinstance(error, NotImplementedError):
                        reason = "it cannot be written"
                    self._note(f"remote cache {self._url}: {reason}; continuing without it")
            return None

    @property
    def _files(self) -> Any:
        return self._opened[0]

    @property
    def _protocols(self) -> tuple[str, ...]:
        protocol = self._files.protocol
        return (protocol,) if isinstance(protocol, str) else tuple(protocol)

    def _place(self, address: EntryAddress) -> str:
        return f"{self._opened[1].rstrip('/')}/{address.path}"

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        """fsspec's file system, and the root in it.

        Raises:
            NoFsspec: a package is not installed.
            UsageError: an unknown scheme.
        """
        from fsspec.core import url_to_fs

        scheme = self._url.partition("://")[0]
        try:
            files, root = url_to_fs(self._url, **(_S3 if scheme in _S3_SCHEMES else {}))
        except ImportError as error:
            if scheme in _S3_SCHEMES:
                raise NoFsspec(package="s3fs", url=self._url, hint=pip_command(EXTRA)) from error
            raise NoBackend(url=self._url, reason=error) from error
        except ValueError as error:
            raise UsageError(message=f"{URL}={self._url}: {error}") from error
        return files, root


def connect(
    mode: str | None, note: Callable[[str], None], environ: Mapping[str, str] = os.environ
) -> RemoteCache | None:
    """The cache that the environment names, or None.

    Args:
        mode: of MODES; the environment's, or `write`, if None.
        note: shows a line at once.

    Raises:
        UsageError: the environment has an unknown mode, or something else than a URL.
        NoFsspec: fsspec is not installed.
    """
    url, chosen = environ.get(URL, ""), mode or environ.get(MODE) or "write"
    if chosen not in MODES:
        raise UsageError(message=f"{MODE}={chosen} is not one of {', '.join(MODES)}")
    if not url or chosen == "off":
        return None
    if "://" not in url:
        raise UsageError(
            message=f"{URL}={url} is not a URL", hint="s3://BUCKET/FOLDER or file:///FOLDER"
        )
    if importlib.util.find_spec("fsspec") is None:
        raise NoFsspec(package="fsspec", url=url, hint=pip_command(EXTRA))
    key = environ.get(KEY)
    return RemoteCache(url, note, writes=chosen == "write", key=key.encode() if key else None)
