"""The registry of operators."""

from __future__ import annotations

import subprocess
import sys

from harness.commands import NETWORK

TWO_THREADS = """
import sys, threading
from importlib import import_module
from pathlib import Path

reached, go_on = threading.Event(), threading.Event()

class Gate:
    def find_spec(self, name, path, target=None):
        if name == "cmcompiler.ops.quantize":
            reached.set()
            go_on.wait()

sys.meta_path.insert(0, Gate())
threading.Thread(target=import_module, args=["cmcompiler.ops"]).start()
reached.wait()
threading.Timer(0.5, go_on.set).start()

from cmcompiler.importer.build import build_graph
from cmcompiler.pte.reader import read_program

build_graph(read_program(Path(sys.argv[1]).read_bytes()))
"""


def test_a_thread_waits_for_what_another_imports() -> None:
    """The second thread asks when fewer than half of the operators are registered."""
    done = subprocess.run(
        [sys.executable, "-c", TWO_THREADS, str(NETWORK)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
