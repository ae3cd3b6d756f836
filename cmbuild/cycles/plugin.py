"""Counters in a simulator, compiled for this computer and kept in the cache: blocks in QEMU,
reads of flash there and in Unicorn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cmbuild import paths
from cmbuild.cache.fingerprint import fingerprint
from cmbuild.cache.folders import CacheFolder
from cmbuild.cache.locks import locked
from cmbuild.cache.store import Entry
from cmbuild.errors import ProcessFailed, TimedOut
from cmbuild.process import Processes
from cmbuild.toolchain import tools
from cmbuild.toolchain.toolchains import HOST, TOOLCHAINS

_SOURCES = Path("tools")
_BLOCKS, _FLASH, _FLASH_HEADER = "block_profile.c", "flash_reads.c", "flash_reads.h"
_LIBRARY = "counter.so"
_COMPILING_SECONDS = 60.0
_ANSWERING_SECONDS = 10.0


class NoCounter(Exception):
    """Why cycles cannot be counted here, in a few words."""

    def __init__(self, reason: object) -> None:
        super().__init__(str(reason))
        self.reason = str(reason)


def block_profile(qemu: Path, processes: Processes) -> Path:
    """QEMU's plugin as a shared library.

    Raises:
        NoCounter: no compiler, one that cannot compile it, or a QEMU without plugins.
    """
    return _library((_BLOCKS, _FLASH), processes, qemu)


def flash_reads(processes: Processes) -> Path:
    """Unicorn's counter of reads of flash as a shared library.

    Raises:
        NoCounter: no compiler, or one that cannot compile it.
    """
    return _library((_FLASH,), processes)


def _library(names: Sequence[str], processes: Processes, qemu: Path | None = None) -> Path:
    tool = TOOLCHAINS[HOST].compiler
    compiler = tools.find_tool(tool)
    if compiler is None:
        raise NoCounter(f"{tool.name} not found; {tools.install_command(tool)}")
    folder = paths.runtime() / _SOURCES
    sources = [folder / name for name in names]
    made_from = fingerprint(
        source=[*sources, folder / _FLASH_HEADER],
        compiler=_identity(compiler),
        qemu=None if qemu is None else _identity(qemu),
    )
    entry = Entry(CacheFolder.PLUGINS.path / made_from[:16])
    with locked(entry.lock, lambda: None):
        if not entry.holds(made_from):
            try:
                with entry.replace(made_from) as made:
                    words = [] if qemu is None else [f"-DAPI_VERSION={_api(qemu, processes, made)}"]
                    _compile(compiler, [*words, *sources], processes, made)
            except (ProcessFailed, TimedOut) as error:
                raise NoCounter(error.message) from error
    return entry.folder / _LIBRARY


def _compile(
    compiler: Path, words: Sequence[str | Path], processes: Processes, folder: Path
) -> None:
    processes.run(
        [compiler, "-shared", "-fPIC", "-O2", *words, "-o", folder / _LIBRARY],
        log=folder / "log.txt",
        timeout=_COMPILING_SECONDS,
    )


def _identity(program: Path) -> list[str | int]:
    """Identifies a program without asking it: asking takes as long as a short run."""
    status = program.resolve().stat()
    return [str(program), status.st_size, status.st_mtime_ns]


def _api(qemu: Path, processes: Processes, folder: Path) -> int:
    """The version of the plugin API to declare to a QEMU.

    Raises:
        NoCounter: it has no plugins.
        TimedOut: it does not answer.
    """
    log = folder / "qemu.txt"
    done = processes.run([qemu, "-help"], log=log, timeout=_ANSWERING_SECONDS, check=False)
    said = done.output
    version = tools.number(said) or "0"
    if "-plugin" not in said:
        raise NoCounter(f"QEMU {version} was built without plugins")
    return api_version(version)


def api_version(version: str) -> int:
    """QEMU 9.0 refuses plugins of the first version of its API."""
    return 2 if int(version.partition(".")[0]) >= 9 else 1
