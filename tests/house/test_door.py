"""What a stranger who wants to join looks for is there, and names things that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from harness.sources import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cmbuild.cli.root import cli
from cmbuild.strictfile import tomllib
from cmbuild.toolchain import tools
from cmbuild.toolchain.compilers.gcc import ARM_GCC
from cmbuild.toolchain.compilers.host import HOST_CC
from cmcompiler.installation import TORCH_INDEX

PAGES = ("CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "THIRD_PARTY.md", "CHANGELOG.md")


@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page: str):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_places_of_the_architecture_exist():
    named = set(re.findall(r"`((?:cmbuild|cmcompiler|runtime|tests|boards)/[\w/.]+)`", text()))
    assert len(named) > 25
    places = {re.sub(r"^(?=cmcompiler/)", "compiler/", name) for name in named if "OP" not in name}
    assert {place for place in places if not (ROOT / place).exists()} == set()


def text() -> str:
    return (ROOT / "ARCHITECTURE.md").read_text()


def test_each_package_is_in_the_architecture():
    """At the first level, without those that only hold a few helpers."""
    helpers = {"api", "benchmark", "chips", "datasets", "display", "doctor", "outputs"}
    packages = {path.parent.name for path in (ROOT / "cmbuild").glob("*/__init__.py")} - helpers
    assert {name for name in packages if f"cmbuild/{name}" not in text()} == set()
    packages = {path.parent.name for path in (ROOT / "compiler/cmcompiler").glob("*/__init__.py")}
    assert {name for name in packages - {"zoo"} if f"cmcompiler/{name}" not in text()} == set()


def test_ten_decisions_in_their_list():
    folder = ROOT / "docs" / "decisions"
    records = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert re.findall(r"\((\d+-[^)]+)\)", (folder / "index.md").read_text()) == records
    assert len(records) >= 10
    for record in records:
        parts = re.findall(r"^\*\*(.+?)\*\*", (folder / record).read_text(), re.M)
        assert parts == ["Why it came up.", "What we do.", "What follows."], record


def test_the_changelog_has_this_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_fragments_become_a_version(tmp_path: Path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "changelog.py", tmp_path / "scripts")
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("stays\n")
    (tmp_path / "changes" / "35.added.md").write_text("A door,\nwide.\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.2.0\n\n- old\n")
    command = [sys.executable, str(tmp_path / "scripts" / "changelog.py"), "0.3.0"]
    subprocess.run(command, check=True)
    assert (tmp_path / "CHANGELOG.md").read_text() == (
        "# Changelog\n\n## 0.3.0\n\n### Added\n\n- A door, wide.\n\n## 0.2.0\n\n- old\n"
    )
    assert [path.name for path in (tmp_path / "changes").iterdir()] == ["README.md"]
    (tmp_path / "changes" / "36.added.md").write_text("A window.\n")
    (tmp_path / "changes" / "36.fixed.md").write_text("The door.\n")
    subprocess.run(command, check=True)
    assert (tmp_path / "CHANGELOG.md").read_text() == (
        "# Changelog\n\n## 0.3.0\n\n### Added\n\n- A door, wide.\n- A window.\n\n"
        "### Fixed\n\n- The door.\n\n## 0.2.0\n\n- old\n"
    )
    (tmp_path / "changes" / "35.new.md").write_text("x\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "35.new.md: expected NAME.KIND.md" in done.stderr


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_github_files_are_yaml(path: Path):
    assert yaml.safe_load(path.read_text())


def test_templates_of_issues_have_fields_of_known_kinds():
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        assert {"name", "description", "body"} <= form.keys(), path.name
        assert {field["type"] for field in form["body"]} <= {"textarea", "input"}, path.name


def test_the_lock_file_holds_what_is_required():
    """At versions that pyproject.toml takes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    texts = [*project["dependencies"], *optional["export"], *optional["test"], *optional["quick"]]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    locked = dict(line.split("==") for line in lines if not line.startswith("#"))
    for requirement in map(Requirement, texts):
        name = canonicalize_name(requirement.name)
        is_needed = requirement.marker is None or requirement.marker.evaluate()
        if is_needed and name != "cmbuild":
            assert name in locked, f"{name}: python scripts/lock.py"
            assert requirement.specifier.contains(locked[name], prereleases=True), name


def test_the_action_and_the_devcontainer_run_what_exists():
    action = yaml.safe_load((ROOT / ".github/actions/check/action.yml").read_text())
    commands = "\n".join(step.get("run", "") for step in action["runs"]["steps"])
    used = re.findall(r"^cmbuild (\w+)(.*)$", commands, re.M)
    assert [verb for verb, _ in used] == ["check", "compare"]
    for verb, words in used:
        command = cli.get_command(click.Context(cli), verb)
        assert command is not None
        known = {name for option in command.params for name in option.opts}
        assert set(re.findall(r"--[\w-]+", words)) <= known
    assert action["runs"]["steps"][3]["env"]["PIP_EXTRA_INDEX_URL"] == TORCH_INDEX
    text = (ROOT / ".devcontainer/devcontainer.json").read_text()
    container = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.M))
    assert (ROOT / ".devcontainer" / container["build"]["dockerfile"]).is_file()
    packages = (ROOT / ".devcontainer" / "Dockerfile").read_text()
    for tool in (ARM_GCC, tools.QEMU, HOST_CC):
        assert {*tool.packages} <= set(packages.split())
