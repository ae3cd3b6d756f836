"""The container's packages are those of set-up."""

from __future__ import annotations

import re

from harness.machine import ROOT

from cmbuild.toolchain import tools
from cmbuild.toolchain.lacking import _USED_BY_ALL


def test_the_image_has_what_set_up_would_install() -> None:
    text = (ROOT / "Containerfile").read_text()
    listed = re.search(r"--no-install-recommends \\\n(.*?)&&", text, re.DOTALL)
    assert listed is not None
    packages = set(listed[1].replace("\\", " ").split())
    needed = {package for tool in _USED_BY_ALL for package in tool.packages}
    assert needed <= packages
    assert {"python3", "python3-venv"} <= packages
    assert tools.QEMU.packages[0] in packages


def test_the_image_runs_both_ways_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    (extras,) = re.findall(r"pip install '\.\[(.+?)\]'", readme)
    assert f"/opt/cmbuild[{extras}]" in (ROOT / "Containerfile").read_text()
