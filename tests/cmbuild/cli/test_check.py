"""Budgets of a project, and comparisons of its builds and revisions, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands

PROJECT = """
[models.net]
source = "net.pte"
[models.net.budget.corstone300]
flash = "64K"
instructions = 1
"""
GIT = {
    f"GIT_{who}_{what}": "x@example.org" if what == "EMAIL" else "x"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


@pytest.fixture
def project(cmbuild: Commands) -> Commands:
    """One model, over its budget of instructions."""
    (cmbuild.folder / "net.pte").write_bytes(NETWORK.read_bytes())
    (cmbuild.folder / "cmbuild.toml").write_text(PROJECT)
    (cmbuild.folder / ".gitignore").write_text("build/\n")
    (cmbuild.folder / "sub").mkdir()
    return cmbuild


def budget(project: Commands, text: str) -> None:
    (project.folder / "cmbuild.toml").write_text(PROJECT.replace("instructions = 1", text))


def git(project: Commands, *words: str) -> str:
    done = subprocess.run(
        ["git", *words],
        cwd=project.folder,
        env=os.environ | GIT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_one_percent_more_instructions_fail_a_check(project: Commands):
    first = project("check", "--json", "--junit", "check.xml")
    assert first.exit_code == 1
    (unit,) = first.document["units"]
    limits = {limit["metric"]: limit for limit in unit["limits"]}
    assert (limits["flash"]["passed"], limits["instructions"]["passed"]) == (True, False)
    counted = limits["instructions"]["value"]
    assert limits["instructions"]["excess"] == counted - 1
    assert 'failures="1"' in (project.folder / "check.xml").read_text()

    budget(project, f"instructions = {counted}")
    below = replace(project, folder=project.folder / "sub")
    assert below("check").exit_code == 0
    # As if the limit were what it cost before it grew by 1 %.
    budget(project, f"instructions = {counted * 100 // 101}")
    result = below("check", "--build-dir", "../build")
    over = counted - counted * 100 // 101
    assert result.exit_code == 1
    assert f"✗ {over:,} over" in result.stdout
    assert result.stderr == "error: 1 of 1 unit failed: net on corstone300\n"


def test_budgets_are_set_from_a_run(project: Commands):
    result = project("check", "--set-budgets")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "wrote budgets into cmbuild.toml" in result.stdout
    assert "instructions = 1\n" not in (project.folder / "cmbuild.toml").read_text()
    assert project("check").exit_code == 0


def test_a_failed_unit_fails_alone(project: Commands):
    (project.folder / "bad.pte").write_bytes((PROGRAMS / "delegate.pte").read_bytes())
    budget(project, '[models.bad]\nsource = "bad.pte"\n[models.bad.budget.native]\nflash = "1M"')
    result = project("check", "--json")
    assert result.exit_code == 1
    units = {unit["model"]: unit for unit in result.document["units"]}
    assert (units["net"]["passed"], units["net"]["failure"]) == (True, None)
    assert "delegate" in units["bad"]["failure"]
    assert units["bad"]["figures"] is None


def test_a_revision_is_compared_and_leaves_nothing(project: Commands):
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "one")
    same = project("compare", "HEAD", "--json", "--max-flash", "+0%", "--max-instructions", "+0")
    assert same.exit_code == 0, same.stderr
    assert same.document["before"].startswith("HEAD (")
    assert same.document["after"] == "now"

    (project.folder / "net.pte").write_bytes((PROGRAMS / "branches.pte").read_bytes())
    result = project("compare", "HEAD", "--max-instructions", "-99%")
    assert result.exit_code == 1
    assert "instructions by op" in result.stdout
    assert "instructions of net on corstone300" in result.stderr
    assert len(git(project, "worktree", "list").splitlines()) == 1
    assert git(project, "status", "--short") == " M net.pte\n"

    folders = project("compare", "build", *project.folder.glob("build/revisions/*/build"))
    assert folders.exit_code == 0, folders.stderr

    (project.folder / "cmbuild.toml").unlink()
    git(project, "commit", "-qam", "none")
    (project.folder / "cmbuild.toml").write_text(PROJECT)
    none = project("compare", "HEAD")
    assert none.exit_code == 2
    assert "has neither a cmbuild.toml nor [tool.cmbuild]" in none.stderr
    assert project("compare", "HEAD~7").stderr.startswith("error: HEAD~7 is neither a file, nor")


def test_two_results_are_compared(project: Commands):
    for name in ("a.json", "b.json"):
        words = ("run", "net", "--board", "native", "--json")
        (project.folder / name).write_text(project(*words).stdout)
    document = project("compare", "a.json", "b.json", "--json").document
    (run,) = document["runs"]
    assert run["title"] == "net on native"
    flash = next(each for each in run["metrics"] if each["metric"] == "flash")
    assert flash["before"] == flash["after"] > 0
    text = json.loads((project.folder / "a.json").read_text()) | {"model": "other"}
    (project.folder / "b.json").write_text(json.dumps(text))
    result = project("compare", "a.json", "b.json")
    assert (result.exit_code, result.stderr) == (
        2,
        "error: a.json and b.json have no model on a board in common\n",
    )


def test_without_a_repository(project: Commands, tmp_path: Path):
    result = replace(project, environment={"GIT_CEILING_DIRECTORIES": str(tmp_path)})(
        "compare", "HEAD"
    )
    assert result.exit_code == 2
    assert "is not in a git repository, so HEAD cannot be looked up" in result.stderr
    empty = replace(project, environment={"PATH": str(tmp_path)})("compare", "HEAD")
    assert (empty.exit_code, empty.stderr.splitlines()[0]) == (3, "error: git not found")


def test_two_models_of_a_project_are_compared(project: Commands):
    (project.folder / "other.pte").write_bytes((PROGRAMS / "branches.pte").read_bytes())
    text = f'{PROJECT}\n[models.other]\nsource = "other.pte"\n'
    (project.folder / "cmbuild.toml").write_text(text)
    document = project("compare", "net", "other", "--board", "native", "--json").document
    assert (document["before"], document["after"]) == ("net", "other")
    (run,) = document["runs"]
    flash = next(each for each in run["metrics"] if each["metric"] == "flash")
    assert 0 < flash["before"] != flash["after"] > 0
