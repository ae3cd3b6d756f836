"""Removes build folders and the user's cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cmbuild import paths
from cmbuild.cache.folders import LOCK, CacheFolder, builds, remove, slug
from cmbuild.cache.locks import locked


def clean_builds(
    build_dir: Path, model: str | None, board: str | None, note: Callable[[str], None]
) -> tuple[Path, ...]:
    """Removes all builds below a build folder, or those of a model, a board, or both.

    Only folders with a build's lock file are touched.

    Args:
        note: shows what is removed or waited for.

    Returns:
        What was removed.
    """
    removed = []
    for folder in list(_builds(build_dir, model, board)):
        with locked(folder / LOCK, partial(note, f"another build is running in {folder}")):
            removed += _remove(folder, build_dir, note)
        if not any(folder.parent.iterdir()):
            folder.parent.rmdir()
    return tuple(removed)


def clean_cache(note: Callable[[str], None]) -> tuple[Path, ...]:
    """Removes everything in the cache; returns what was removed."""
    removed = [_remove(folder.path, paths.cache(), note) for folder in CacheFolder]
    return tuple(path for each in removed for path in each)


def _builds(build_dir: Path, model: str | None, board: str | None) -> Iterator[Path]:
    for folder in builds(build_dir):
        boards = (None, folder.name, folder.name.rpartition(".")[0])
        if (model is None or folder.parent.name == slug(model)) and board in boards:
            yield folder


def _remove(folder: Path, root: Path, note: Callable[[str], None]) -> list[Path]:
    if not folder.exists():
        return []
    note(f"removed {folder}")
    remove(folder, root)
    return [folder]
