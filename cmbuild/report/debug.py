"""The addresses and files that people and editors need to attach a debugger."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from cmbuild.pipeline.debugger import Server
from cmbuild.report.text import LABEL
from cmbuild.toolchain import tools


def server_lines(server: Server, has_gdb: bool) -> Iterator[str]:
    """Lines without wrapping, so that they can be copied."""
    yield _line("debug", f"{server.machine} waits at {server.address}")
    yield _line("VS Code", f'"executable": "{server.image}",')
    yield _line("", f'"gdbTarget": "{server.address}",')
    yield _line("", 'beside "type": "cortex-debug", "request": "attach",')
    yield _line("", '"servertype": "external" in launch.json')
    if not has_gdb:
        yield _line("gdb", shlex.join(server.gdb(tools.GDB.name)))
        yield _line("", f"which is not installed: {tools.install_command(tools.GDB)}")


def _line(label: str, text: str) -> str:
    return f"{label:<{LABEL}}{text}"
