"""Checks on other processes."""

from __future__ import annotations

from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # proc(5): the name in brackets may contain anything; the state follows it.
    return status.rpartition(")")[2].split()[0] not in "ZX"
