"""Samples on a real Zephyr: its Kconfig, its build, its kernel in QEMU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness.zephyr import CMAKE, NINJA, ROOT, SAMPLES

TREE = os.environ.get("CMBUILD_ZEPHYR_TREE", "")
"""A folder with zephyr/ and modules/hal/cmsis of the revision that zephyr/west.yml names."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not TREE, reason="$CMBUILD_ZEPHYR_TREE does not name a tree of Zephyr"),
]


@pytest.mark.parametrize("board", ["mps2_an385", "mps2_an521", "mps3_an547"])
def test_hello_ends_well(board: str, tmp_path: Path) -> None:
    tree = Path(TREE).absolute()
    modules = (tree / "modules/hal/cmsis", ROOT)
    environment = {
        **os.environ,
        "ZEPHYR_BASE": str(tree / "zephyr"),
        "ZEPHYR_TOOLCHAIN_VARIANT": "gnuarmemb",
        "GNUARMEMB_TOOLCHAIN_PATH": "/usr",
    }

    def call(*words: object, timeout: float = 1200) -> str:
        command = [str(word) for word in words]
        done = subprocess.run(
            command, check=False, env=environment, capture_output=True, text=True, timeout=timeout
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    configuration = (
        f"-DBOARD={board}",
        f"-DZEPHYR_MODULES={';'.join(map(str, modules))}",
        f"-DCMBUILD_COMMAND={sys.executable};-m;cmbuild",
    )
    call(CMAKE, "-GNinja", "-B", tmp_path, *configuration, SAMPLES / "hello")
    call(NINJA, "-C", tmp_path)
    machine = {"mps3_an547": "mps3-an547"}.get(board, board.replace("_", "-"))
    image = tmp_path / "zephyr/zephyr.elf"
    # The kernel idles after the record that ends a run, so QEMU is stopped then.
    simulator = ["qemu-system-arm", "-M", machine, "-nographic", "-kernel", str(image)]
    with subprocess.Popen(simulator, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if line.startswith("cmrt end"):
                break
        process.kill()
    assert lines[-1] == "cmrt end 0", lines
    assert "1.00 + 2.00 = 3.10" in lines
