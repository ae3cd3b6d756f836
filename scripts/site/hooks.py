"""Hooks of mkdocs: the generated reference, and links to files outside of docs/."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT), str(ROOT / "compiler")]

from reference import pages  # noqa: E402

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)]*)\)")
"""Links to the tree around the folder of documents, which a site cannot follow."""


def on_files(files: Any, config: Any) -> Any:
    """Adds the generated pages."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Shows what lies outside of docs/ as a path, without a link."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def unlinked(match: re.Match[str]) -> str:
        target = (folder / match[2].partition("#")[0]).resolve()
        if target.is_relative_to(ROOT / "docs"):
            return match[0]
        place = target.relative_to(ROOT)
        return match[1] if match[1].strip("`") == str(place) else f"{match[1]} (`{place}`)"

    return _OUTSIDE.sub(unlinked, markdown)
