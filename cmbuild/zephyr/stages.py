"""workspace, app: steps that west performs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cmbuild import paths
from cmbuild.cache.store import Entry
from cmbuild.catalog import readable_boards
from cmbuild.errors import Failed, Missing, ProcessFailed, UsageError
from cmbuild.image.console import records
from cmbuild.outputs.delivery import Destination
from cmbuild.pipeline.stages.stage import RepeatedStage, StageKind
from cmbuild.process import Processes
from cmbuild.zephyr.request import ApplicationRequest
from cmbuild.zephyr.simulators import find_fvp
from cmbuild.zephyr.workspace import (
    MANIFEST,
    RELEASE,
    Workspace,
    find_application,
    find_folder,
    find_west,
    open_workspace,
    toolchain,
)

_UPDATE_SECONDS = 3600.0  # Zephyr and its modules are some gigabytes
_BUILD_SECONDS = 3600.0
_FLASH_SECONDS = 600.0
_RUN_SECONDS = 600.0


class NoFvp(Missing):
    template = "{program} not found; it simulates {board}"
    hint = "ARMFVP_BIN_PATH=DIR names its folder"


class NotEmpty(UsageError):
    template = "{folder} is not empty"


class NotDefinition(UsageError):
    template = "unexpected argument {word!r}"
    hint = "only CMake's definitions follow, after --: -- -DCONFIG_SHELL=y"


class FailedInSpace(Failed):
    template = "{failure.message}"
    hint = (
        "--build-dir sets a folder without a space, which Zephyr's build may need; {failure.hint}"
    )


class NoEnd(Failed):
    template = "{subject} did not finish"
    hint = "its output is in {log}"


class WrongEnd(Failed):
    template = "{subject} ended with status {status}"
    hint = "its output is in {log}"


@dataclass(frozen=True, slots=True)
class WestResult:
    """An application that was built and perhaps run.

    Attributes:
        status: the image's exit status; None if it was not run.
        console: its output without records.
    """

    application: str
    board: str
    image: Path
    status: int | None = None
    console: tuple[str, ...] = ()
    log: Path | None = None


class WorkspaceStage(RepeatedStage):
    """A new workspace, in the user's folder; the entry holds west's output."""

    kind = StageKind.WORKSPACE
    verb = "made"

    def __init__(
        self, folder: Path, processes: Processes, build: Path, force: bool = False
    ) -> None:
        """
        Args:
            force: write over a manifest that others made or changed.
        """
        self.name = folder.name
        self.subject = f"Zephyr {RELEASE}"
        self.folder = folder.absolute()
        self._processes = processes
        self._build = build
        self._force = force

    @property
    def entry(self) -> Entry:
        return Entry(self._build / f"workspace-{self.name}")

    def check(self) -> None:
        """
        Raises:
            MissingTool: west or git is not installed.
            NotEmpty: the folder is in use for something else.
        """
        find_west()
        if not self.folder.exists() or (self.folder / ".west").is_dir():
            return
        if not self.folder.is_dir() or any(self.folder.iterdir()):
            raise NotEmpty(folder=self.folder)

    def make(self, folder: Path) -> None:
        west, logs = find_west(), self._build / "logs"
        manifest = self.folder / "manifest"
        source = paths.data() / "zephyr" / MANIFEST
        Destination(manifest, self._force).put({MANIFEST: source})
        run = self._processes.run
        if not (self.folder / ".west").is_dir():
            log = logs / "west-init.txt"
            run([west, "init", "-l", manifest], log=log, timeout=60, cwd=self.folder)
        log = logs / "west-update.txt"
        words = ["update", "--narrow", "--fetch-opt=--depth=1"]
        run([west, *words], log=log, timeout=_UPDATE_SECONDS, cwd=self.folder)
        shutil.copyfile(log, folder / "west-update.txt")


class ApplicationStage(RepeatedStage):
    """A sample or any other application, built by Zephyr's build system, which itself decides what
    is up to date.
    """

    kind = StageKind.APP
    verb = "built"
    result: WestResult | None = None

    def __init__(self, request: ApplicationRequest, processes: Processes) -> None:
        self.name = request.place
        self.subject = f"{request.name} on {request.board}"
        self.request = request
        self.processes = processes

    @cached_property
    def workspace(self) -> Workspace:
        log = self.logs / "west-list.txt"
        folder = find_folder(self.request.workspace)
        return open_workspace(folder, find_west(), self.processes, log)

    @property
    def logs(self) -> Path:
        return self.request.folder / "logs"

    @property
    def build(self) -> Path:
        """Zephyr's build folder."""
        return self.request.folder / "build"

    @property
    def image(self) -> Path:
        return self.build / "zephyr" / "zephyr.elf"

    @property
    def entry(self) -> Entry:
        return Entry(self.request.folder / "app")

    def check(self) -> None:
        """
        Raises:
            MissingTool, NoWorkspace, NotUpdated, NoSdk: something is missing.
            UsageError: no such application or model, or arguments that are no definitions.
        """
        for word in self.request.definitions:
            if not word.startswith("-D"):
                raise NotDefinition(word=word)
        find_application(self.request.sample)
        toolchain(self.workspace.folder)

    def make(self, folder: Path) -> None:
        request = self.request
        source = find_application(request.sample)
        words: list[str | Path] = ["build", "-b", request.board, "-d", self.build, source]
        words += ["--", *self.workspace.definitions([sys.executable, "-m", "cmbuild"])]
        if request.model is not None:
            # A name of the zoo, or a file.
            file = Path(request.model)
            words.append(f"-DMODEL={file.absolute() if file.exists() else request.model}")
        words += request.definitions
        try:
            self.west(words, "build", _BUILD_SECONDS)
        except ProcessFailed as failure:
            if " " in str(self.build):
                raise FailedInSpace(failure=failure) from failure
            raise
        (folder / "image").write_text(f"{self.image}\n")
        self.result = WestResult(request.name, request.board, self.image)

    def west(
        self,
        words: list[str | Path],
        name: str,
        timeout: float,
        listener: Callable[[str], None] | None = None,
    ) -> None:
        """
        Args:
            listener: gets each line; then the caller judges the exit status.

        Raises:
            ProcessFailed, TimedOut.
        """
        self.processes.run(
            [find_west(), *words],
            log=self.logs / f"west-{name}.txt",
            timeout=timeout,
            cwd=self.workspace.folder,
            env={"ZEPHYR_BASE": str(self.workspace.zephyr_base)} | toolchain(self.workspace.folder),
            check=listener is None,
            listener=listener,
            name=f"west {name}",
        )


class _Later(RepeatedStage):
    """Runs or flashes an application that was built."""

    def __init__(self, application: ApplicationStage) -> None:
        self.name = application.name
        self.subject = application.subject
        self.after = (application,)
        self._application = application
        self._result: WestResult | None = None

    @property
    def result(self) -> WestResult | None:
        return self._result or self._application.result

    @property
    def entry(self) -> Entry:
        return Entry(self._application.request.folder / self.kind.label)


class EmulateStage(_Later):
    """A run in Zephyr's simulator for the board, until the image reports its end."""

    kind = StageKind.SIMULATE
    verb = "ran"

    def check(self) -> None:
        """Raises NoFvp if the board's simulator is not installed."""
        board = self._application.request.board
        fvp, in_qemu = find_fvp(board, readable_boards())
        if fvp is None:
            return
        program = fvp.executable
        folder = os.environ.get("ARMFVP_BIN_PATH")
        found = shutil.which(program, path=folder) if folder else shutil.which(program)
        if found is None:
            hint = f"{NoFvp.hint}; {in_qemu} runs in QEMU" if in_qemu else NoFvp.hint
            raise NoFvp(program=program, board=board, hint=hint)

    def make(self, folder: Path) -> None:
        application = self._application
        log = application.logs / "console.txt"
        lines: list[str] = []

        def listen(line: str) -> None:
            lines.append(line)
            if any(record.status is not None for record in records([line])):
                raise _Ended

        try:
            words: list[str | Path] = ["build", "-d", application.build, "-t", "run"]
            application.west(words, "run", application.request.timeout or _RUN_SECONDS, listen)
        except _Ended:
            pass
        finally:
            log.write_text("".join(f"{line}\n" for line in lines))
        ends = [record.status for record in records(lines) if record.status is not None]
        if not ends:
            raise NoEnd(subject=self.subject, log=log)
        (folder / "console.txt").write_text(log.read_text("utf-8", "replace"))
        said = tuple(line for line in lines if not line.startswith("cmrt "))
        request = application.request
        self._result = WestResult(
            request.name, request.board, application.image, ends[-1], said, log
        )
        if ends[-1] != 0:
            raise WrongEnd(subject=self.subject, status=ends[-1], log=log)


class WestFlashStage(_Later):
    """Flashes an application onto a real board, with Zephyr's runner for it."""

    kind = StageKind.FLASH
    verb = "flashed"

    def make(self, folder: Path) -> None:
        application = self._application
        timeout = application.request.timeout or _FLASH_SECONDS
        application.west(["flash", "-d", application.build], "flash", timeout)


class _Ended(Exception):
    """The image has reported its end; the simulator would continue."""
