"""Units are known by what they do and read, and refuse other files than the client's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from harness.commands import PROGRAMS

from cmbuild.pipeline.options import compose
from cmbuild.pipeline.request import RunRequest
from cmbuild.workers.units import OtherFile, RunUnit, check_files


def request(model: Path, board: str = "native") -> RunRequest:
    return compose(RunRequest, model=str(model), board=board, build_dir=Path("build"))


def test_a_key_covers_request_and_files(tmp_path: Path) -> None:
    model = tmp_path / "net.pte"
    shutil.copy(PROGRAMS / "network.pte", model)
    key = RunUnit.of(request(model)).key
    assert RunUnit.of(request(model)).key == key
    assert RunUnit.of(request(model, "corstone300")).key != key
    shutil.copy(PROGRAMS / "branches.pte", model)
    assert RunUnit.of(request(model)).key != key


def test_another_file_than_the_clients_is_refused(tmp_path: Path) -> None:
    model = tmp_path / "net.pte"
    model.write_bytes(b"one")
    files = RunUnit.of(request(model)).files
    check_files(files)
    model.write_bytes(b"other")
    with pytest.raises(OtherFile, match=r"net\.pte is missing there, or differs"):
        check_files(files)
    model.unlink()
    with pytest.raises(OtherFile):
        check_files(files)
