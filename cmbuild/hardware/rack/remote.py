"""Flashing on another computer, by SSH: with the probe programs that are installed there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cmbuild.errors import Failed, Missing, UsageError
from cmbuild.hardware.method import Selection
from cmbuild.hardware.program_method import ProgramMethod
from cmbuild.hardware.registry import Flashing
from cmbuild.process import Completed, Processes
from cmbuild.toolchain.tools import apt_command

_OPTIONS = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
_SECONDS = 60.0
_UNREACHABLE = 255  # ssh's own exit status
_HOST = re.compile(r"[\w.][\w.@-]*")  # never an option of ssh


class NoSuchHost(Failed):
    template = "no access to {host} by SSH: {reason}"
    hint = "`ssh {host} true` must work without a question; ~/.ssh/config can say how"


class NoProgramThere(Missing):
    template = "no flash program of {board} found on {host}: {programs}"
    hint = "install one there, where the shell of `ssh {host}` finds it"


class NotByProgram(UsageError):
    template = "{method} works only on the computer that the board is connected to, {host}"
    hint = "run cmbuild there, or choose another with --method or the place's tag flash"


@dataclass(frozen=True, slots=True)
class SshHost:
    """A computer that boards are connected to.

    Attributes:
        log: gets what commands print.
    """

    name: str
    processes: Processes
    log: Path

    def run(self, words: Sequence[str], seconds: float = _SECONDS, check: bool = True) -> Completed:
        """Runs a command there.

        Raises:
            NoSuchHost.
            ProcessFailed: `check` and it failed.
            TimedOut, Interrupted.
        """
        return self._call("ssh", [self.name, shlex.join(words)], words[0], seconds, check)

    def installed(self, programs: Sequence[str]) -> Sequence[str]:
        """The given programs that are installed there; raises as `run`."""
        script = "".join(
            f"command -v {shlex.quote(each)} >&2 && echo {each}; " for each in programs
        )
        done = self.run(["sh", "-c", f"{script}:"])
        lines = {line.strip() for line in done.output.splitlines()}
        return [each for each in programs if each in lines]

    @contextmanager
    def copied(self, file: Path) -> Iterator[PurePosixPath]:
        """A file there, in a folder of its own; raises as `run`."""
        done = self.run(["mktemp", "-d", "/tmp/cmbuild-XXXXXXXX"])
        folder = next((w for w in done.output.split() if w.startswith("/tmp/cmbuild-")), "")
        if not folder:
            raise NoSuchHost(host=self.name, reason="mktemp -d printed no folder")
        try:
            copy = PurePosixPath(folder) / file.name
            self._call("scp", ["-q", str(file), f"{self.name}:{copy}"], "scp", _SECONDS, True)
            yield copy
        finally:
            if not self.processes.is_ended:
                self.run(["rm", "-r", folder], check=False)

    def _call(
        self, program: str, words: Sequence[str], name: str, seconds: float, check: bool
    ) -> Completed:
        if not _HOST.fullmatch(self.name):
            raise NoSuchHost(host=self.name, reason="not the name of a computer")
        done = self.processes.run(
            [program, *_OPTIONS, *words],
            log=self.log,
            timeout=seconds,
            check=False,
            name=f"{name} on {self.name}",
            install=apt_command("openssh-client"),
        )
        if done.status == _UNREACHABLE:
            lines = [line for line in done.output.splitlines() if line.strip()]
            raise NoSuchHost(host=self.name, reason=lines[-1] if lines else "it printed nothing")
        if check and done.status != 0:
            raise done.failure(f"{name} on {self.name}")
        return done


def flash_there(
    host: SshHost,
    known: Flashing,
    board: str,
    image: Path,
    *,
    method: str | None,
    selection: Selection,
) -> str:
    """Flashes an image with the board's first program that is installed there.

    Args:
        method: use this one.

    Returns: its name and that of the computer.

    Raises:
        NotByProgram, NoProgramThere, NoSuchHost.
        ProcessFailed, TimedOut, Interrupted.
    """
    wanted = known.methods if method is None else {method: known.methods[method]}
    ways = {name: way for name, way in wanted.items() if isinstance(way, ProgramMethod)}
    if not ways:
        raise NotByProgram(method=", ".join(wanted), host=host.name)
    present = host.installed(list(ways))
    if not present:
        raise NoProgramThere(board=board, host=host.name, programs=", ".join(ways))
    way = ways[present[0]]
    with host.copied(image) as copy:
        for arguments in way.commands(Path(copy), selection):
            host.run([way.name, *arguments], seconds=way.limit)
    return f"{way.name} on {host.name}"
