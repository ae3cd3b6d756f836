"""Units are known by what they do and read, and refuse other files than the client's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from harness.commands import PROGRAMS

from cmbuild.pipeline.callback import Callback
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import RunRequest
from cmbuild.pipeline.session import Session
from cmbuild.workers.units import OtherFile, RunUnit, check_files, shared_units


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


def test_what_runs_share_is_a_unit_where_it_is_to_be_made(tmp_path: Path) -> None:
    program = request(PROGRAMS / "network.pte")
    with Session(Callback(None), tmp_path) as session:
        run = Pipeline(session.context).simulate(program)
        unit = RunUnit.of(program)
        [library] = shared_units(unit, run, lambda stage: True)
        assert (library.kind, library.name) == ("libs", run.runner.library.name)
        assert shared_units(unit, run, lambda stage: False) == []
    assert session.failures.first is None
