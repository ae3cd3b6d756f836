"""Moves the fragments of changes/ into CHANGELOG.md: python scripts/changelog.py 0.3.0"""

from __future__ import annotations

import re
import sys
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
    """The changelog with a new version on top."""
    parts = [f"## {version}\n"]
    for kind in KINDS:
        if kind in texts:
            items = "".join(f"- {text}\n" for _, text in texts[kind])
            parts.append(f"### {kind.capitalize()}\n\n{items}")
    return re.sub(r"^(?=## )", lambda _: "\n".join(parts) + "\n", changelog, count=1, flags=re.M)


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
