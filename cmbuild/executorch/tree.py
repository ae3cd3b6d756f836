"""CMake's build folder for a checkout, kept so that ninja rebuilds only what has changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cmbuild.cache.fingerprint import digest, files
from cmbuild.cache.folders import CacheFolder, remove
from cmbuild.errors import ProcessFailed
from cmbuild.firmware.builder import Builder
from cmbuild.toolchain.tools import CMAKE, NINJA, find_program

_SECONDS = 3600.0  # all kernels of upstream take three minutes on two slow cores

# The checkout's own code generators run from within it, and must not write there.
_CLEAN = {"PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True, slots=True)
class Tree:
    """
    Attributes:
        builder: for the static runtime's library, with the same core and toolchain.
    """

    folder: Path
    builder: Builder

    @property
    def lock(self) -> Path:
        """The lock file to hold while working in the tree."""
        return self.folder.with_name(f".{self.folder.name}.lock")

    def refresh(self, sources: Iterable[Path]) -> None:
        """Removes what was built if ninja, which goes by time, would miss a change: a source that
        differs from the one of the last build but is older than it, or anything built that has
        changed since `seal`.
        """
        record = self.folder / "sources.json"
        now = {
            str(file): digest(file)
            for place in sources
            for file in (files(place) if place.is_dir() else [place])
        }
        try:
            before, since = json.loads(record.read_bytes()), record.stat().st_mtime
        except (OSError, ValueError):
            before, since = {}, float("inf")
        changed = (Path(name) for name, content in now.items() if before.get(name) != content)
        is_missed = any(file.exists() and file.stat().st_mtime <= since for file in changed)
        if is_missed or (self._sealed.exists() and self._sealed.read_text() != self._content):
            remove(self.folder, CacheFolder.EXECUTORCH.path)
        self._sealed.unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(now))

    def configure(self, root: Path, variables: Mapping[str, str], log: Path) -> None:
        """Raises MissingTool, ProcessFailed, TimedOut."""
        definitions = dict(variables) | {
            "CMAKE_EXPORT_COMPILE_COMMANDS": "ON",
            "CMAKE_MAKE_PROGRAM": str(find_program(NINJA)),
            # CMake refuses to export libraries whose headers are within its own build folder.
            "FETCHCONTENT_BASE_DIR": str(self.folder.absolute() / "fetched"),
            "FETCHCONTENT_UPDATES_DISCONNECTED": "ON",
        }
        try:
            self._run(
                [
                    *(find_program(CMAKE), "-G", "Ninja", "-S", root, "-B", self._build),
                    *self.builder.toolchain.cmake(self.builder.target),
                    *(f"-D{name}={value}" for name, value in definitions.items()),
                ],
                log,
            )
        except ProcessFailed:
            (self._build / "CMakeCache.txt").unlink(missing_ok=True)  # it may be incomplete
            raise

    def make(self, targets: Sequence[str], log: Path) -> None:
        """
        Args:
            targets: libraries, or objects as `sources` names them.

        Raises:
            ProcessFailed, TimedOut.
        """
        self._run([find_program(NINJA), "-C", self._build, *targets], log)

    def seal(self) -> None:
        """Records what was built. After a build without a record, ninja alone decides."""
        self._sealed.write_text(self._content)

    def library(self, target: str) -> Path | None:
        """The library file of a target; None if not built."""
        return next(iter(sorted(self._build.rglob(f"lib{target}.a"))), None)

    def sources(self, target: str) -> Mapping[Path, str]:
        """The sources of a library, each with its object as ninja names it; without those that
        other libraries compile too.
        """
        commands = json.loads((self._build / "compile_commands.json").read_bytes())
        mine: dict[Path, str] = {}
        others: set[Path] = set()
        for command in commands:
            source = Path(command["file"])
            output = re.search(rf" -o (\S*/{target}\.dir/\S+) ", command["command"])
            if output is None:
                others.add(source)
            else:
                mine[source] = output[1]
        return {source: output for source, output in mine.items() if source not in others}

    def archive(self, objects: Iterable[str], file: Path, log: Path) -> None:
        """Raises ProcessFailed."""
        cache = (self._build / "CMakeCache.txt").read_text(encoding="utf-8", errors="replace")
        archiver = re.search(r"^CMAKE_AR:\w+=(.+)$", cache, re.MULTILINE)
        program = "ar" if archiver is None else archiver[1]
        self._run([program, "crs", file, *(self._build / name for name in objects)], log)

    @property
    def _build(self) -> Path:
        return self.folder / "build"

    @property
    def _sealed(self) -> Path:
        return self.folder / "content"

    @property
    def _content(self) -> str:
        return digest(self._build)

    def _run(self, command: Sequence[str | Path], log: Path) -> None:
        self.builder.processes.run(command, log=log, timeout=_SECONDS, env=_CLEAN)
