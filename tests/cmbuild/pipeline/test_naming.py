"""What names of models stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.errors import UnknownName, UsageError
from cmbuild.pipeline.naming import Names
from cmbuild.pipeline.needs import Needs
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.pipeline import build_folder
from cmbuild.pipeline.request import ModelChoice, RunRequest
from cmbuild.pipeline.weight_types import patterns
from cmbuild.projects.project import find_project

FILE = """
[models.kws]
source = "net.py:make"
calibration = "inputs.npy"
seed = 3
io = "int8"
[models.mv2]
source = "small.pte"
[models.zoo]
source = "digits"
needs = {snr = "43 dB"}
"""


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def names(tmp_path: Path, notes: list[str], monkeypatch: pytest.MonkeyPatch) -> Names:
    monkeypatch.chdir(tmp_path)
    for name in ("net.py", "inputs.npy", "small.pte"):
        Path(name).touch()
    Path("cmbuild.toml").write_text(FILE)
    return Names(find_project(), notes.append)


def test_a_name_stands_for_file_and_options(names: Names, tmp_path: Path):
    request = compose(RunRequest, model="kws", board="native", build_dir=tmp_path)
    build = names.resolved_run(request).build
    assert build.source.model == f"{tmp_path}/net.py:make"
    assert build.source.calibration == tmp_path / "inputs.npy"
    assert (build.source.seed, build.source.name, build.boundary.io) == (3, "kws", "int8")
    assert build_folder(build) == build_folder(request.build) == tmp_path / "kws" / "native"
    assert names.resolved(build) == build


def test_what_the_user_says_comes_first(names: Names):
    request = compose(RunRequest, model="kws", board="native", io="program", seed=5)
    build = names.resolved_run(request).build
    assert (build.source.seed, build.boundary.io) == (5, "program")


def test_whoever_names_types_means_these(names: Names):
    assert names.chosen(ModelChoice(model="zoo")).needs.options == ("--snr",)
    for types in ({"activations": "int8"}, {"weight_type": "int4"}, {"portable": True}):
        assert names.chosen(ModelChoice(model="zoo", **types)).needs.options == ()
    own = Needs(accuracy_drop="1%")
    assert names.chosen(ModelChoice(model="zoo", needs=own)).needs == own


def test_files_and_the_zoo_are_themselves(names: Names):
    for model in ("other.py:make", "x.pte", "ds_cnn"):
        source = ModelChoice(model=model)
        assert names.chosen(source) is source
    assert names.chosen(ModelChoice(model="zoo")).model == "digits"


def test_the_project_hides_the_zoo_and_says_so_once(names: Names, notes: list[str]):
    for _ in range(2):
        assert names.chosen(ModelChoice(model="mv2")).is_program
    assert notes == ["mv2 is the model in cmbuild.toml, not cmbuild's"]


def test_unknown_names_are_compared_with_both(names: Names):
    for name, hint in (("kvs", "kws"), ("mv3_smal", "mv3_small")):
        with pytest.raises(UnknownName) as error:
            names.chosen(ModelChoice(model=name))
        assert error.value.hint == f"did you mean {hint}?"


def test_weights_are_a_file_a_type_or_both():
    plain = ModelChoice(model="digits", weights=Path("int4"))
    assert (plain.weights, plain.weight_type) == (None, "int4")
    both = ModelChoice(model="digits", weights=Path("my,own.pt,int8"))
    assert (both.weights, both.weight_type) == (Path("my,own.pt"), "int8")
    file = ModelChoice(model="digits", weights=Path("my,int4.pt"))
    assert (file.weights, file.weight_type) == (Path("my,int4.pt"), None)
    with pytest.raises(UsageError, match=r"weight_type='int5': expected int8, .* or int16"):
        ModelChoice(model="kws", weight_type="int5")
    with pytest.raises(
        UsageError, match=r"--weights 'int4/48': expected a file, int8, .* or int16"
    ):
        ModelChoice(model="kws", weights=Path("int4/48"))
    assert patterns(None, "int4", (("head", "8w8a"),)) == (("*", "4w8a"), ("head", "8w8a"))
    assert patterns(None, None, ()) == ()


def test_options_that_do_not_go_with_it(names: Names):
    with pytest.raises(UsageError, match=r"^model mv2: --weights needs a model to export"):
        names.chosen(ModelChoice(model="mv2", weights=Path("x.pt")))
    with pytest.raises(UsageError, match=r"^--weights needs a model to export"):
        ModelChoice(model="x.pte", weights=Path("int4"))
