"""Published state dicts: found in torch.hub's cache or downloaded, within short time limits."""

from __future__ import annotations

import hashlib
import os
import threading
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.error import URLError

_CONNECT_SECONDS = 5.0
_DOWNLOAD_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A published state dict.

    Attributes:
        url: its name ends in the first digits of its SHA-256: `name-1a2b3c4d.pth`.
    """

    url: str

    @property
    def path(self) -> Path:
        """Where torch.hub keeps it once downloaded: $TORCH_HOME or its default."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
        home = Path(os.environ.get("TORCH_HOME") or cache / "torch")
        return home.expanduser() / "hub" / "checkpoints" / self.url.rpartition("/")[2]

    def fetch(self) -> Path:
        """The path of the file, downloaded if it is not there yet.

        Raises:
            OSError: no network, or a file that is not the published one. Within 5 s where nothing
                answers, within 60 s in all.
        """
        if not self.path.is_file():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _Download(self.url, self.path).run()
        return self.path


class _Download:
    """A download in a thread of its own: a name look-up cannot be given a time limit otherwise."""

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
            raise OSError(f"{self.url} did not arrive whole")
