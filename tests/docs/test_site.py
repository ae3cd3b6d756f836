"""The site of docs/ builds without a warning: all pages in it, links and anchors right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cmbuild.cli.group import Verbs
from cmcompiler.decode.registry import operators

ROOT = Path(__file__).parents[2]
MOST_LINES = 40
"""Of README.md's first screen."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


def text(site: Path, page: str) -> str:
    return (site / page / "index.html").read_text()


def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]+)"', page.read_text()
        )
        assert [each for each in loaded if "canonical" not in each] == [], page


def test_links_between_pages_and_anchors_exist(site: Path) -> None:
    pages = {page: page.read_text() for page in site.rglob("*.html") if page.name != "404.html"}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', html)) for page, html in pages.items()}
    dead = []
    for page, html in pages.items():
        for link in re.findall(r'<a[^>]* href="([^"]+)"', html):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (anchor and anchor not in anchors.get(target, ())):
                dead.append(f"{page.relative_to(site)}: {link}")
    assert len(pages) >= 40
    assert dead == []


def test_the_reference_is_whole(site: Path) -> None:
    commands = text(site, "reference/commands")
    verbs = Verbs().list_commands(None)  # type: ignore[arg-type]
    assert [verb for verb in verbs if f">cmbuild {verb}<" not in commands] == []
    listed = text(site, "reference/operators")
    assert [name for name in operators() if f"<code>{name}</code>" not in listed] == []
    assert "flash.uf2" in text(site, "reference/toml")
    assert "kws_init" in text(site, "reference/c")
    assert "STM32F411" in text(site, "reference/chips")


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("nav:")[2]
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if page not in nav} == set()


def test_the_first_screen_of_the_readme() -> None:
    """What, why, install, run, picture."""
    lines = (ROOT / "README.md").read_text().splitlines()
    screen = "\n".join(lines[:MOST_LINES])
    for part in ("./cmbuildw run digits", "git clone", "![", "Why", "verified"):
        assert part in screen
    assert all(len(line) <= 100 for line in lines[:MOST_LINES])
