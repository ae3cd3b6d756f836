"""cmbuild.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.project import Project, find_project
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
