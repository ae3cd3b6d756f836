"""Published state dicts: found in torch.hub's cache or downloaded, within short time limits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A published state dict, or another file of weights.

    Attributes:
        url: its file name ends in the first digits of its SHA-256: `name-1a2b3c4d.pth`.
        sha256: all digits, of a file whose name has none.
    """

    url: str
    sha256: str = ""

    @property
    def path(self) -> Path:
        """Where torch.hub caches it: $TORCH_HOME or its default."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
        home = Path(os.environ.get("TORCH_HOME") or cache / "torch")
        name = self.url.rpartition("/")[2]
        if self.sha256:
            stem, dot, suffix = name.rpartition(".")
            name = f"{stem}-{self.sha256}{dot}{suffix}"
        return home.expanduser() / "hub" / "checkpoints" / name

    def fetch(self) -> Path:
        """The path of the file, downloaded if missing.

        Raises:
            OSError: no network (within 3 s if nothing responds, and at once for some minutes
                then; 60 s in all), or not the published file.
        """
        if not self.path.is_file():
            # Network modules are needed only for the first download.
            from cmcompiler.frontend.download import Download

            self.path.parent.mkdir(parents=True, exist_ok=True)
            Download(self.url, self.path).run()
        return self.path
