"""The fixture of a project's own tests; tests/cmbuild/cli/test_init.py runs it as users do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cmbuild.errors import CmbuildError
from cmbuild.pytest_plugin import ProjectUnderTest

PROGRAM = Path(__file__).parents[1] / "data" / "programs" / "network.pte"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"[models.net]\nsource = '{PROGRAM}'\n[models.net.budget.native]\npte = '1M'\n"
    Path("cmbuild.toml").write_text(text)


def test_a_run_is_done_once():
    cmbuild = ProjectUnderTest()
    first = cmbuild.run("net", "native")
    assert first.verification.verified
    assert cmbuild.check("net", "native") is first
    assert cmbuild.run("net", "native", samples=2) is not first
    assert cmbuild.build("net", "native").memory.flash.total == first.memory.flash.total


def test_a_budget_is_checked():
    text = Path("cmbuild.toml").read_text()
    Path("cmbuild.toml").write_text(text.replace("1M", "1"))
    cmbuild = ProjectUnderTest()
    with pytest.raises(CmbuildError, match=r"net on native: pte [\d,]+ bytes over"):
        cmbuild.check("net", "native")
    with pytest.raises(CmbuildError, match="unknown board of the project 'corstone300'"):
        cmbuild.check("net", "corstone300")
    with pytest.raises(CmbuildError, match="unknown model 'other'"):
        cmbuild.check("other", "native")


def test_every_session_of_pytest_imports_it_so_it_is_light():
    code = "import sys, cmbuild.pytest_plugin; print(*(m for m in sys.modules if 'cmbuild' in m))"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert said.stdout.split() == ["cmbuild", "cmbuild.pytest_plugin"]
