"""Makes the result of one stage, one command at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cmbuild.cache.folders import remove
from cmbuild.cache.locks import locked
from cmbuild.cache.store import Condition

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.stage import Stage
    from cmbuild.remote.storage import RemoteCache


class Waiting:
    """Shows once what a command waits for; a signal ends the wait."""

    def __init__(
        self, message: str, check: Callable[[], None], note: Callable[[str], None]
    ) -> None:
        self._message = message
        self._check = check
        self._note = note
        self._is_said = False

    def __call__(self) -> None:
        """Raises whatever `check` does."""
        self._check()
        if not self._is_said:
            self._is_said = True
            self._note(self._message)


def is_made(stage: Stage) -> bool:
    """Whether the result of a stage exists and is up to date."""
    try:
        return stage.condition() is Condition.WHOLE
    except Exception:
        return False  # perform fails in the same way, and reports it


def perform(
    stage: Stage,
    check: Callable[[], None],
    note: Callable[[str], None],
    remote: RemoteCache | None = None,
) -> bool:
    """Makes the result of a stage, unless another command has just done so.

    Args:
        check: raises what ends a wait for another command.
        note: shows a line at once.
        remote: is asked first, and gets what was made.

    Returns: whether it came from there.
    """
    entry = stage.entry
    message = f"another command is making {entry.folder.name}; waiting for it"
    with locked(entry.lock, Waiting(message, check, note)):
        condition = stage.condition()
        if condition is Condition.WHOLE:
            return False
        if condition is Condition.DAMAGED:
            note(f"{entry.folder} has changed since it was made; made again")
        if condition is Condition.USELESS:
            note(f"the content of {entry.folder} cannot be used; made again")
        if remote is not None and stage.travels and _fetch(stage, remote):
            return True
        with entry.replace(stage.fingerprint) as folder:
            stage.make(folder)
        if remote is not None and stage.travels:
            remote.store(stage.address, entry.folder)
    return False


def offer(
    stage: Stage,
    check: Callable[[], None],
    note: Callable[[str], None],
    remote: RemoteCache | None,
) -> None:
    """Shares a result that was made before there was a cache to share it through; see `perform`."""
    if remote is None or not stage.travels or not remote.lacks(stage.address):
        return
    entry = stage.entry
    message = f"another command is making {entry.folder.name}; waiting for it"
    with locked(entry.lock, Waiting(message, check, note)):
        if stage.condition() is Condition.WHOLE:
            remote.store(stage.address, entry.folder)


class _NotFetched(Exception):
    """Leaves an entry as it was."""


def _fetch(stage: Stage, remote: RemoteCache) -> bool:
    try:
        with stage.entry.replace(stage.fingerprint) as folder:
            if not remote.fetch(stage.address, folder, stage.inspect):
                raise _NotFetched
    except _NotFetched:
        return False
    # What was made from the same inputs may still be outdated on this machine.
    return stage.condition() is Condition.WHOLE


def clean(stage: Stage) -> None:
    """Removes the result of a stage."""
    remove(stage.entry.folder, stage.entry.folder.parent)
