"""Published state dicts: found in torch.hub's cache or downloaded, within short time limits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


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
            # The modules of a network client are for the first time only.
            from cmcompiler.frontend.download import Download

            self.path.parent.mkdir(parents=True, exist_ok=True)
            Download(self.url, self.path).run()
        return self.path
