"""Commands in README.md and docs/ are ones that cmbuild takes: verbs, options, choices."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cmbuild.cli.root import cli

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"^```(?:console)?\n(.*?)^```$", re.M | re.S)
_COMMAND = re.compile(r"^(?:\$ )?(?:\w+=\S+ )*(?:\./cmbuildw|cmbuild) (.*)$", re.M)
_OF_WRAPPER = {"test", "fuzz", "docs", "--locked"}
"""Verbs of cmbuildw alone."""


def commands(text: str) -> Iterator[list[str]]:
    for block in _BLOCK.findall(text):
        for line in _COMMAND.findall(block.replace("\\\n", " ")):
            words = shlex.split(re.split(r"&&|[|;<>]", line)[0], comments=True)
            if words and words[0] not in _OF_WRAPPER:
                yield words


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_are_taken(
    document: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in commands(document.read_text()):
        for word in words:  # files that readers have
            if "/" not in word and re.search(r"\.(npy|pte|py|pt|jpg|toml|json)$", word):
                Path(word).touch()
        try:
            context = click.Context(cli, allow_interspersed_args=False)
            _, rest, _ = cli.make_parser(context).parse_args(list(words))
            name, command, rest = cli.resolve_command(context, rest)
            assert command is not None
            command.make_context(name, rest)
        except click.exceptions.Exit:  # --help
            pass
        except Exception as error:
            pytest.fail(f"cmbuild {shlex.join(words)}: {error}")


def test_the_commands_of_the_readme_are_found() -> None:
    verbs = {words[0] for words in commands((ROOT / "README.md").read_text())}
    assert {"run", "new", "flash", "debug"} <= verbs
