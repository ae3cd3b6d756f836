"""Runs commands on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

from harness.commands import Commands


def in_terminal(commands: Commands, *words: str | Path) -> str:
    """A command's output to its terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        commands.argv(*words),
        cwd=commands.folder,
        env={**commands.variables, "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen = bytearray()
    try:
        while data := os.read(ours, 1 << 16):
            seen += data
    except OSError:  # EIO: the other end is closed
        pass
    finally:
        os.close(ours)
        process.wait()
    return seen.decode(errors="replace")
