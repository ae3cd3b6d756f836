"""Worktrees of git that come and go."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cmbuild.process import Processes
from cmbuild.projects.project import Project, find_project
from cmbuild.projects.revision import NotARepository, UnknownRevision, revision

IDENTITY = ("-c", "user.name=x", "-c", "user.email=x@example.org")


def git(folder: Path, *words: str) -> str:
    argv = ["git", *IDENTITY, *words]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """In a folder of its repository, with a hook that would be seen."""
    home = tmp_path / "repository" / "firmware"
    home.mkdir(parents=True)
    (home / "cmbuild.toml").write_text("[project]\nboard = 'native'\n")
    git(home.parent, "init", "-q")
    git(home, "add", "-A")
    git(home, "commit", "-qm", "one")
    hook = home.parent / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    (home / "cmbuild.toml").write_text("[project]\nboard = 'rp2350'\n")
    return find_project(home)


def test_the_project_as_it_was(project: Project, tmp_path: Path):
    build = tmp_path / "build"
    with revision("HEAD", project, build, Processes()) as was:
        assert was.title.startswith("HEAD (")
        assert (was.project.board, was.project.folder.name) == ("native", "firmware")
        assert build in was.build_dir.parents
    assert not list(build.glob("revisions/*/tree"))
    assert len(git(project.folder, "worktree", "list").splitlines()) == 1
    assert not (tmp_path / "hooked").exists()


def test_what_a_killed_command_left_is_replaced(project: Project, tmp_path: Path):
    build = tmp_path / "build"
    with revision("HEAD", project, build, Processes()) as was:
        place = was.project.folder.parent
    git(project.folder, "worktree", "add", "-q", "--detach", str(place), "HEAD")
    (place / "firmware" / "cmbuild.toml").unlink()
    with revision("HEAD", project, build, Processes()) as was:
        assert was.project.board == "native"
    place.mkdir(parents=True)
    with revision("HEAD", project, build, Processes()) as was:
        assert was.project.board == "native"


@pytest.mark.parametrize("name", ["HEAD~1", "nothing", "--help", "HEAD:firmware"])
def test_other_words_are_no_revision(project: Project, tmp_path: Path, name: str):
    with (
        pytest.raises(UnknownRevision),
        revision(name, project, tmp_path / "build", Processes()),
    ):
        pass


def test_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "cmbuild.toml").touch()
    with (
        pytest.raises(NotARepository),
        revision("HEAD", find_project(tmp_path), tmp_path / "build", Processes()),
    ):
        pass
