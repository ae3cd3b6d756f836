"""Moves fragments of changes/ into a version of CHANGELOG.md: python scripts/changelog.py 0.3.0"""

from __future__ import annotations

import re
import sys
import textwrap
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = ("added", "changed", "fixed", "removed")


def fragments(folder: Path) -> dict[str, list[tuple[Path, str]]]:
    """Files with their text, by kind; raises SystemExit for a file that has no kind."""
    by_kind: dict[str, list[tuple[Path, str]]] = defaultdict(list)
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        kind = path.name.split(".")[-2]
        if kind not in KINDS:
            expected = f"expected NAME.KIND.md, KIND of {', '.join(KINDS)}"
            raise SystemExit(f"error: {path.name}: {expected}")
        by_kind[kind].append((path, " ".join(path.read_text().split())))
    return by_kind


def release(changelog: str, version: str, texts: dict[str, list[tuple[Path, str]]]) -> str:
    """The changelog with the fragments in a version: a new one on top, or one that it has."""
    head, *sections = re.split(r"^(?=## )", changelog, flags=re.M)
    title = f"## {version}\n"
    known = next((each for each in sections if each.startswith(title)), None)
    before = {} if known is None else _kinds(known)
    parts = [title]
    for kind in KINDS:
        items = before.get(kind, "") + "".join(_item(text) for _, text in texts.get(kind, ()))
        if items:
            parts.append(f"### {kind.capitalize()}\n\n{items}")
    section = "\n".join(parts) + "\n"
    others = [each for each in sections if each is not known]
    place = 0 if known is None else sections.index(known)
    return head + "".join([*others[:place], section, *others[place:]])


def _kinds(section: str) -> dict[str, str]:
    """The items of a version, by kind."""
    pairs = re.findall(r"^### (\w+)\n\n(.*?)(?=^###|\Z)", section, re.M | re.S)
    return {title.lower(): items.strip() + "\n" for title, items in pairs}


def _item(text: str) -> str:
    # Neither `--options` nor URLs are broken.
    return (
        textwrap.fill(
            f"- {text}",
            100,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        + "\n"
    )


def main() -> int:
    if len(sys.argv) != 2 or not re.fullmatch(r"\d+\.\d+\.\d+", sys.argv[1]):
        print(__doc__)
        return 2
    texts = fragments(ROOT / "changes")
    changelog = ROOT / "CHANGELOG.md"
    changelog.write_text(release(changelog.read_text(), sys.argv[1], texts))
    for each in texts.values():
        for path, _ in each:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
