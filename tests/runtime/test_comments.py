"""Everything that C comments refer to exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
ENDINGS = "py|c|h|S|cpp|json|toml|cmake"


TREE = sorted(
    file.relative_to(ROOT).as_posix()
    for place in ("runtime", "boards", "zephyr", "cmbuild", "compiler")
    for file in (ROOT / place).rglob("*.*")
)
SOURCES = [name for name in TREE if re.fullmatch(r"(runtime|boards|zephyr)/.*\.(c|h|S|cpp)", name)]


@pytest.fixture(scope="module")
def code() -> str:
    """All C without its comments; includes symbols of link scripts."""
    files = [*SOURCES, *(name for name in TREE if name.endswith((".ld.j2", ".cmake")))]
    return "".join(COMMENT.sub("", (ROOT / name).read_text()) for name in files)


def _exists(path: str) -> bool:
    return any(f"/{path}" in f"/{name}" for name in TREE)


@pytest.mark.parametrize("name", SOURCES)
def test_what_comments_cite_exists(name: str, code: str) -> None:
    for comment in COMMENT.findall((ROOT / name).read_text()):
        cited = re.findall(rf"[\w/-]+\.(?:{ENDINGS})\b", comment)
        assert [path for path in cited if not _exists(path)] == []
        folders = re.findall(r"\b(?:cmbuild|compiler|runtime|zephyr)/[\w/-]+", comment)
        assert [path for path in folders if not _exists(path)] == []
        names = re.findall(r"\b(?:cm|CM)_\w+", comment)
        assert [word for word in names if not re.search(rf"\b{word}\b", code)] == []
        for module, functions in re.findall(r"(\w+\.py): (\w+(?:, \w+)*)", comment):
            (python,) = (path for path in TREE if path.endswith(f"support/{module}"))
            text = (ROOT / python).read_text()
            assert all(f"def {function}(" in text for function in functions.split(", "))
