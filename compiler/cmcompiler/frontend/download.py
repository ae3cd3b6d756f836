"""Atomic file downloads within short time limits."""

from __future__ import annotations

import hashlib
import threading
import urllib.request
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.error import URLError

_CONNECT_SECONDS = 5.0
_DOWNLOAD_SECONDS = 60.0


class Download:
    """A download in its own thread, since name look-ups have no time limit."""

    def __init__(self, url: str, path: Path) -> None:
        self.url, self.path = url, path
        self.connected = threading.Event()
        self.finished = threading.Event()
        self.given_up = threading.Event()
        self.error: OSError | None = None

    def run(self) -> None:
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
            self.error = OSError(f"{self.url}: {error.reason}")
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
