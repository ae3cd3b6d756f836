from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cmbuild.cache.locks import locked
from cmbuild.errors import NotWritable

HOLDER = """
import sys
from pathlib import Path
from cmbuild.cache.locks import locked
with locked(Path(sys.argv[1]), lambda: None):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_second_process_waits_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert holder.stdout.readline() == b"held\n"
    said = []

    def waiting() -> None:
        if not said:
            holder.stdin.close()
        said.append(holder.poll())

    with locked(path, waiting):
        assert said[0] is None
    holder.wait()
    holder.stdout.close()


def test_threads_exclude_each_other_and_a_wait_can_be_ended(tmp_path: Path) -> None:
    inside, refused = threading.Event(), []

    def refuse() -> None:
        raise InterruptedError

    def contend() -> None:
        try:
            with locked(tmp_path / "lock", refuse):
                inside.set()
        except Exception as error:
            refused.append(error)

    with locked(tmp_path / "lock", lambda: None):
        thread = threading.Thread(target=contend)
        thread.start()
        thread.join()
    assert refused
    assert not inside.is_set()
    with locked(tmp_path / "lock", refuse):
        pass


def test_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritable), locked(tmp_path / "file" / "lock", lambda: None):
        pass
