"""Each hint leads somewhere: commands and options exist, documents too, extras can be installed."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator

import click
import pytest
from harness.sources import MODULES, ROOT

from cmbuild.cli.root import cli
from cmbuild.strictfile import tomllib

_SENTENCES = ("cmbuild knows ",)
"""Beginnings of hints that are not commands."""

_MAY_HINT = re.compile(r"\b(hint|install)\b")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


def hints() -> Iterator[tuple[str, str]]:
    """Texts of hints in the sources, with their module; what is filled in stands as `X`."""
    sources = ((name, path.read_text()) for name, path in MODULES.items())
    for name, source in ((name, source) for name, source in sources if _MAY_HINT.search(source)):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.keyword) and node.arg in ("hint", "install"):
                yield from ((name, text) for text in texts(node.value))
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = {each.id for each in targets if isinstance(each, ast.Name)}
                if names & {"hint", "install"}:
                    yield from ((name, text) for text in texts(node.value))


def texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield _PLACEHOLDER.sub("X", node.value)
    elif isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
        yield "".join(map(str, parts))
    elif isinstance(node, ast.IfExp):
        yield from texts(node.body)
        yield from texts(node.orelse)


HINTS = sorted(set(hints()))


def commands(text: str) -> Iterator[list[str]]:
    """Command lines of cmbuild: in backticks, or the whole hint."""
    matches = re.findall(r"`(cmbuild [^`]+)`", text)
    if text.startswith("cmbuild ") and not text.startswith(_SENTENCES):
        matches.append(re.split(r"[;,(]| to | with ", text)[0])
    for line in matches:
        yield shlex.split(line)[1:]


def test_there_are_hints() -> None:
    assert len(HINTS) > 80
    assert sum(1 for _, text in HINTS for _ in commands(text)) > 15


@pytest.mark.parametrize(
    ("module", "text"), HINTS, ids=[f"{name}: {text[:40]}" for name, text in HINTS]
)
def test_a_hint_leads_somewhere(module: str, text: str) -> None:
    for words in commands(text):
        if words[0] == "X":
            continue
        command = cli.get_command(click.Context(cli), words[0])
        assert command is not None, f"{module}: no command {words[0]}"
        if isinstance(command, click.Group) and len(words) > 1 and words[1] in command.commands:
            command = command.commands[words[1]]
        known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        used = {word.partition("=")[0] for word in words[1:] if re.match(r"--[a-z]", word)}
        assert used <= known | {"--help"}, f"{module}: {text}"
    for document in re.findall(r"\bdocs/[\w/-]+\.md", text):
        assert (ROOT / document).is_file(), f"{module}: no {document}"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra in re.findall(r"cmbuild\[(\w+)\]", text):
        assert extra in extras["optional-dependencies"], f"{module}: no extra {extra}"
