"""Checks on other processes."""

from __future__ import annotations

import time
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # proc(5): the name in brackets may contain anything; the state follows it.
    return status.rpartition(")")[2].split()[0] not in "ZX"


def wait_until_over(pid: int) -> None:
    """Waits until a process has ended, which a killed one does soon, not at once: a busy machine
    has to run it for that. The time limit of the test ends the wait for one that lives on.
    """
    while is_running(pid):
        time.sleep(0.02)
