"""Fixtures for all tests."""

import signal

import pytest
from harness.images import workbench
from harness.runtime import Runtime

from cmcompiler.isa import Isa

# A shell starts what it does not wait for with SIGINT ignored, which all children would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

collect_ignore = ["data"]
"""Tests among the data are run by tests."""

RUNTIMES = {
    "native": ("native", "scalar"),
    "scalar": ("corstone300", "scalar"),
    "dsp": ("corstone300", "dsp"),
    "mve": ("corstone300", "mve"),
}
"""Board and instruction set; `native` is this computer under address and UB sanitizers."""


@pytest.fixture(scope="session", params=RUNTIMES)
def runtime(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    """Every kernel of one instruction set, ready to run: one test, one `runtime` each."""
    folder = tmp_path_factory.mktemp(f"runtime-{request.param}")
    board, isa = RUNTIMES[request.param]
    return Runtime(workbench(board, isa, folder), Isa.named(isa), folder)
