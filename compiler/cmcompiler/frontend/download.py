"""Atomic file downloads within short time limits."""

from __future__ import annotations

import hashlib
import threading
import time
import urllib.request
from math import inf
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

_CONNECT_SECONDS = 2.5
_DOWNLOAD_SECONDS = 60.0

_SLOW_SECONDS = 0.5
"""A failure that takes longer is remembered."""

_RETRY_SECONDS = 300.0
"""How long nothing is asked of a host that did not answer."""


class Download:
    """A download in its own thread, since name look-ups have no time limit."""

    def __init__(self, url: str, path: Path) -> None:
        self.url, self.path = url, path
        self.connected = threading.Event()
        self.finished = threading.Event()
        self.given_up = threading.Event()
        self.error: OSError | None = None
        self.was_answered = False

    def run(self) -> None:
        """
        Raises:
            OSError: the file is not there whole, or nothing answered within some seconds, now or
                some minutes ago.
        """
        host = urlsplit(self.url).hostname or ""
        silence = self.path.parent / f"no-answer-from-{host}"
        if _age(silence) < _RETRY_SECONDS:
            minutes = _RETRY_SECONDS / 60
            raise TimeoutError(f"{host} did not answer (asked at most every {minutes:.0f} minutes)")
        start = time.monotonic()
        try:
            self._run()
        except OSError:
            if not self.was_answered and time.monotonic() - start > _SLOW_SECONDS:
                silence.touch()
            raise

    def _run(self) -> None:
        threading.Thread(target=self._work, daemon=True).start()
        answered = self.connected.wait(_CONNECT_SECONDS)
        if not answered or not self.finished.wait(_DOWNLOAD_SECONDS):
            self.given_up.set()
            limit = _DOWNLOAD_SECONDS if answered else _CONNECT_SECONDS
            raise TimeoutError(f"{self.url} took more than {limit:.0f} s")
        if self.error is not None:
            raise self.error

    def _work(self) -> None:
        try:
            self._download()
        except URLError as error:
            self.was_answered = isinstance(error, HTTPError)
            self.error = OSError(f"{self.url}: {error.reason}")
        except TimeoutError as error:
            self.error = TimeoutError(f"{self.url}: {error}")
        except OSError as error:
            self.error = error
        except Exception as error:  # http.client has errors of its own
            self.error = OSError(f"{self.url}: {error}")
        finally:
            self.finished.set()
            self.connected.set()

    def _download(self) -> None:
        digest = hashlib.sha256()
        with urllib.request.urlopen(self.url, timeout=_CONNECT_SECONDS) as response:
            self.was_answered = True
            self.connected.set()
            with NamedTemporaryFile(dir=self.path.parent, delete=False) as file:
                temporary = Path(file.name)
                while (block := response.read(1 << 16)) and not self.given_up.is_set():
                    file.write(block)
                    digest.update(block)
        published = self.path.stem.rpartition("-")[2]
        if digest.hexdigest().startswith(published):
            temporary.replace(self.path)
        else:
            temporary.unlink()
            raise OSError(f"{self.url} was not downloaded completely")


def _age(file: Path) -> float:
    """Seconds since a file was last written; infinite without one, or with one of the future."""
    try:
        age = time.time() - file.stat().st_mtime
    except OSError:
        return inf
    return age if age >= 0 else inf
