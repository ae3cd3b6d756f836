"""The plugin that counts blocks in QEMU: compiled for the installed one, kept in the cache."""

from __future__ import annotations

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

_SOURCE = Path("tools") / "block_profile.c"
_LIBRARY = "block_profile.so"
_COMPILING_SECONDS = 60.0
_ANSWERING_SECONDS = 10.0


class NoCounter(Exception):
    """Why cycles cannot be counted here, in a few words."""

    def __init__(self, reason: object) -> None:
        super().__init__(str(reason))
        self.reason = str(reason)


def block_profile(qemu: Path, processes: Processes) -> Path:
    """The plugin as a shared library.

    Raises:
        NoCounter: no compiler, one that cannot compile it, or a QEMU without plugins.
    """
    tool = TOOLCHAINS[HOST].compiler
    compiler = tools.find_tool(tool)
    if compiler is None:
        raise NoCounter(f"{tool.name} not found; {tools.install_command(tool)}")
    source = paths.runtime() / _SOURCE
    made_from = fingerprint(source=source, compiler=_identity(compiler), qemu=_identity(qemu))
    entry = Entry(CacheFolder.PLUGINS.path / made_from[:16])
    with locked(entry.lock, lambda: None):
        if not entry.holds(made_from):
            try:
                with entry.replace(made_from) as folder:
                    _compile(compiler, source, _api(qemu, processes, folder), processes, folder)
            except (ProcessFailed, TimedOut) as error:
                raise NoCounter(error.message) from error
    return entry.folder / _LIBRARY


def _compile(compiler: Path, source: Path, api: int, processes: Processes, folder: Path) -> None:
    library = folder / _LIBRARY
    processes.run(
        [compiler, "-shared", "-fPIC", "-O2", f"-DAPI_VERSION={api}", source, "-o", library],
        log=folder / "log.txt",
        timeout=_COMPILING_SECONDS,
    )


def _identity(program: Path) -> list[str | int]:
    """Of a program, without a question to it: asking takes as long as a short run."""
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
