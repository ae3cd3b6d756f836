"""Commands in README.md and docs/ exist, with the options that they are shown with."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmbuild.cli import main

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(document: Path) -> Iterator[list[str]]:
    """Arguments of every cmbuild in a code block."""
    text = document.read_text()
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    for line in lines:
        match = re.match(r"(?:\$ )?(?:\./cmbuildw|cmbuild) +([^#]+)", line)
        if match:
            yield shlex.split(match[1])


SHOWN = sorted({" ".join(words) for path in DOCUMENTS for words in commands(path)})


def test_commands_are_found():
    assert "run mv2 --board corstone300" in SHOWN
    assert len(SHOWN) > 10


@pytest.mark.parametrize("shown", SHOWN)
def test_a_shown_command_exists(shown: str, capsys: pytest.CaptureFixture[str]):
    words = shown.split()
    if words[0] in ("test", "fuzz", "docs", "--locked"):  # of cmbuildw itself
        return
    own = words[: words.index("--")] if "--" in words else words
    assert main([*own, "--help"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []
