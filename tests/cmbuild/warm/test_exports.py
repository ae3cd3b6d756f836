"""The process that exports: started with the first export, and again if it has ended."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from cmbuild.warm import exports as warm
from cmbuild.warm.exports import WarmExports


@pytest.fixture
def exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WarmExports:
    script = tmp_path / "server.py"
    script.write_text("import sys, time\nfrom pathlib import Path\nPath(sys.argv[-2]).touch()\n")
    script.write_text(f"{script.read_text()}while Path(sys.argv[-2]).exists(): time.sleep(0.02)\n")
    monkeypatch.setattr(warm, "python_module", lambda name: [sys.executable, str(script)])
    return WarmExports(tmp_path / "logs")


def place(exports: WarmExports) -> Path:
    return Path(exports.command()[-2])


def appears(path: Path) -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_one_process_for_all_exports(exports: WarmExports) -> None:
    first = place(exports)
    appears(first)
    assert place(exports) == first
    exports.close()
    assert not first.parent.exists()


def test_one_that_has_ended_is_started_again(exports: WarmExports) -> None:
    first = place(exports)
    appears(first)
    first.unlink()
    assert exports._waiting is not None
    exports._waiting.join()
    second = place(exports)
    assert second != first
    appears(second)
    exports.close()


@pytest.mark.long
def test_its_command_exports_jobs(tmp_path: Path) -> None:
    actual = WarmExports(tmp_path)
    job = tmp_path / "none.json"
    done = subprocess.run(
        [*actual.command(), "export", job], capture_output=True, text=True, check=False
    )
    actual.close()
    assert (done.returncode, "No such file" in done.stdout) == (2, True), done.stderr
