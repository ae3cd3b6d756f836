"""The way from a command's words to its first stage is short."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MOST_CALLS, MOST_DEEP = 1_200, 15

COUNTED = """
import json, os, sys
home = sys.argv[1] + os.sep
calls = depth = deepest = 0

def count(frame, event, argument):
    global calls, depth, deepest
    code = frame.f_code
    if code.co_filename.startswith(home):
        if event == "call":
            if code.co_name in ("is_made", "begin"):
                print(json.dumps([calls, deepest]), flush=True)
                os._exit(0)
            calls, depth = calls + 1, depth + 1
            deepest = max(deepest, depth)
        elif event == "return":
            depth -= 1

sys.setprofile(count)
from cmbuild.cli import main
main(["run", "mlp", "--board", sys.argv[2]])
sys.exit("no stage was asked for its result")
"""


@pytest.mark.parametrize("board", ["native", "corstone300"])
def test_a_run_asks_little_before_its_first_stage(board: str, tmp_path: Path) -> None:
    """Imports and class bodies count as calls of cmbuild's own modules, too."""
    import cmbuild

    done = subprocess.run(
        [sys.executable, "-c", COUNTED, str(Path(cmbuild.__file__).parent), board],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    calls, deepest = json.loads(done.stdout)
    assert 300 < calls <= MOST_CALLS
    assert 5 < deepest <= MOST_DEEP
