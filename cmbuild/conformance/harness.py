"""The host's side of the kernel harness, the image that holds every kernel: batches go in, results
come out. cmcompiler.emit.harness_batch has the files' form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cmbuild.errors import CmbuildError, Failed, ProcessFailed, TimedOut
from cmbuild.launchers.base import Launcher
from cmbuild.process import Processes
from cmcompiler.emit.harness_batch import (
    Case,
    CaseResult,
    IncompleteResults,
    pack_cases,
    unpack_results,
)

LOG = "log.txt"


class Stopped(Failed):
    """The image ended before it had run all cases; the launcher's error is its cause, if any.

    Attributes:
        case: index of the one that did not finish.
    """

    template = "{reason}"

    def __init__(self, *, case: int, reason: CmbuildError | IncompleteResults) -> None:
        hint = reason.hint if isinstance(reason, CmbuildError) else None
        super().__init__(reason=reason, hint=hint)
        self.case = case


@dataclass(frozen=True, slots=True)
class KernelHarness:
    """A kernel harness's image and what executes it."""

    processes: Processes
    launcher: Launcher
    image: Path

    def run(self, cases: Sequence[Case], folder: Path, timeout: float) -> list[CaseResult]:
        """Runs planned programs, all in one start of the image.

        Args:
            folder: private and empty; gets the batch, the results and log.txt.
            timeout: seconds for all of them.

        Raises:
            Stopped: the image ended during a case, refused the batch, or took too long.
            LauncherMissing, Interrupted.
        """
        (folder / "batch").write_bytes(pack_cases(cases))
        failure: CmbuildError | None = None
        try:
            self.launcher.run(self.processes, self.image, folder, timeout=timeout, log=folder / LOG)
        except (Failed, ProcessFailed, TimedOut) as error:
            failure = error
        results = folder / "results"
        try:
            outputs = unpack_results(results.read_bytes() if results.exists() else b"", cases)
        except IncompleteResults as error:
            raise Stopped(case=error.case, reason=failure or error) from failure
        if failure is not None:
            raise failure
        return outputs
