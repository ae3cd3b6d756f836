"""cmbuild.toml."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cmbuild.projects.project import Project, TwoFiles, find_project
from cmbuild.strictfile import BrokenFile
from cmcompiler.extension import Extension


def test_a_folder_without_a_file_is_a_project_without_ops(tmp_path: Path) -> None:
    assert find_project(tmp_path) == Project(tmp_path)


def test_folders_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "c").mkdir()
    (tmp_path / "cmbuild.toml").write_text('[ops]\nhost = "host"\nkernels = "c"\n')
    expected = Extension(host=tmp_path / "host", kernels=tmp_path / "c")
    assert find_project(tmp_path).ops == expected
    monkeypatch.chdir(tmp_path)
    assert find_project().ops == Extension(host=Path("host"), kernels=Path("c"))


def test_an_empty_file_will_do(tmp_path: Path) -> None:
    (tmp_path / "cmbuild.toml").touch()
    assert find_project(tmp_path).ops == Extension()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[op]", "cmbuild.toml:1: op: unknown key", "did you mean ops?"),
        ("[ops]\ntorches = ''", "cmbuild.toml:2: ops.torches: unknown key", "did you mean torch?"),
        ("[ops]\nhost = 'x'", "cmbuild.toml:2: ops.host: no such folder: {folder}/x", None),
        ("[ops]\nhost = 'x\n'", "cmbuild.toml:2: ", None),
    ],
)
def test_a_broken_file_is_one_line(
    text: str, message: str, hint: str | None, tmp_path: Path
) -> None:
    (tmp_path / "cmbuild.toml").write_text(text)
    with pytest.raises(BrokenFile) as error:
        find_project(tmp_path)
    assert message.format(folder=tmp_path) in error.value.message
    assert error.value.hint == hint


MODELS = """
[project]
model = "kws"
boards = ["rp2350"]
[models.kws]
source = "nets/kws.py:make"
data = "test.npz"
io = "int8"
[models.kws.budget.microbit]
flash = "64K"
instructions = "3.9M"
accuracy = "93%"
snr = 30
milliseconds = 50
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "cmbuild.toml").write_text(MODELS)
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "kws.py").touch()
    (tmp_path / "test.npz").touch()
    return tmp_path


@pytest.fixture
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)


def test_models_have_names(project: Path):
    subject = find_project(project)
    model = subject.checked("kws")
    assert (model.source, model.data) == (f"{project}/nets/kws.py:make", project / "test.npz")
    assert (model.io, model.feed, subject.model, subject.boards) == (
        "int8",
        None,
        "kws",
        ("rp2350",),
    )
    budget = model.budgets["microbit"]
    assert (budget.flash, budget.instructions, budget.accuracy) == (65536, 3_900_000, 0.93)
    assert (budget.snr, budget.milliseconds, budget.ram) == (30.0, 50.0, None)


def test_it_is_found_from_below(project: Path, monkeypatch):
    monkeypatch.chdir(project / "nets")
    subject = find_project()
    assert subject.folder == Path("..")
    assert subject.models["kws"].source == f"{project}/nets/../nets/kws.py:make"


def test_it_may_be_in_pyproject(project: Path):
    text = re.sub(r"^\[", "[tool.cmbuild.", MODELS, flags=re.MULTILINE)
    (project / "pyproject.toml").write_text(f"[project]\nname = 'x'\n{text}")
    with pytest.raises(TwoFiles, match=r"both a cmbuild.toml and \[tool.cmbuild\]"):
        find_project(project)
    (project / "cmbuild.toml").unlink()
    assert set(find_project(project).models) == {"kws"}
    (project / "pyproject.toml").write_text(f"[project]\nname = 'x'\n{text}flsh = 1\n")
    with pytest.raises(BrokenFile) as error:
        find_project(project)
    assert error.value.message == (
        f"{project}/pyproject.toml:17: tool.cmbuild.models.kws.budget.microbit.flsh: unknown key"
    )
    assert error.value.hint == "did you mean flash?"


def test_another_pyproject_is_none(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    assert find_project(tmp_path) == Project(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"64K"', '"64Q"', ":10: models.kws.budget.microbit.flash: '64Q' is not a size such as"),
        ('"64K"', "-1", ":10: models.kws.budget.microbit.flash: -1 is not a size such as"),
        ('"93%"', '"193%"', ":12: models.kws.budget.microbit.accuracy: '193%' is not a share"),
        ("snr = 30", 'snr = "loud"', ":13: models.kws.budget.microbit.snr: 'loud' is not a level"),
        ("= 50", "= 0", ":14: models.kws.budget.microbit.milliseconds: input should be greater"),
        ('io = "int8"', 'io = "int4"', ":8: models.kws.io: input should be 'program', 'int8',"),
        ('source = "nets/kws.py:make"', "", ":5: models.kws.source: missing"),
        ('model = "kws"', "model = 1", ":3: project.model: input should be a valid string"),
        ("models.kws", "models.'k w'", ":5: models.k w: 'k w' cannot be the name of a model"),
        ("[models.kws]", "[models.other]", ":9: models.kws.source: missing"),
        ("[models.kws]", "[models.kws", ":5: "),
        ("[project]", "ops = 3\n[project]", ":2: ops: expected a table, not 3"),
    ],
)
def test_broken_models_are_one_line(project: Path, old: str, new: str, problem: str):
    (project / "cmbuild.toml").write_text(MODELS.replace(old, new))
    with pytest.raises(BrokenFile) as error:
        find_project(project)
    assert error.value.message.startswith(f"{project}/cmbuild.toml{problem}")


@pytest.mark.parametrize(
    ("old", "new", "problem", "hint"),
    [
        ("kws.py", "kvs.py", ":6: models.kws.source: no such file: nets/kvs.py", None),
        ("test.npz", "t.npz", ":7: models.kws.data: no such file: t.npz", None),
        ("nets/kws.py:make", "ds_cn", ":6: models.kws.source: unknown model 'ds_cn'", "ds_cnn"),
    ],
)
def test_files_are_missed_when_they_are_needed(here, old, new, problem, hint):
    Path("cmbuild.toml").write_text(MODELS.replace(old, new))
    subject = find_project()
    with pytest.raises(BrokenFile) as error:
        subject.checked("kws")
    assert error.value.message == f"cmbuild.toml{problem}"
    assert error.value.hint == (f"did you mean {hint}?" if hint else None)


def test_a_program_takes_no_calibration(here):
    Path("x.pte").touch()
    text = MODELS.replace("nets/kws.py:make", "x.pte").replace("data =", "calibration =")
    Path("cmbuild.toml").write_text(text)
    with pytest.raises(BrokenFile) as error:
        find_project().checked("kws")
    assert error.value.message == (
        "cmbuild.toml:7: models.kws.calibration: x.pte is a program already, and takes none"
    )


@pytest.mark.parametrize(
    "text", ["tool = 3\nx = '''\n[tool.cmbuild]\n'''", "x = '''\n[tool.cmbuild]\n'''"]
)
def test_a_table_in_a_string_is_none(tmp_path: Path, text: str):
    (tmp_path / "pyproject.toml").write_text(text)
    assert find_project(tmp_path).models == {}
