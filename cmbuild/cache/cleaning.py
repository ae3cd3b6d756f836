"""Removes build folders and the user's cache."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from cmbuild import paths
from cmbuild.cache.folders import LOCK, CacheFolder, builds, remove, slug
from cmbuild.cache.locks import locked

_OTHER_FOLDERS = frozenset({"build", "cycles", "debug", "logs", "manifest"})
"""Folders of a build beside those of its stages."""


def clean_builds(
    build_dir: Path,
    model: str | None,
    board: str | None,
    stages: Collection[str],
    note: Callable[[str], None],
) -> tuple[Path, ...]:
    """Removes all builds below a build folder, or those of a model, a board, or both.

    Only folders with a build's lock file are touched, and what others put there stays.

    Args:
        stages: names of the folders that stages make in a build.
        note: shows what is removed, kept or waited for.

    Returns:
        What was removed.
    """
    removed: list[Path] = []
    own = _OTHER_FOLDERS.union(stages)
    for folder in list(_builds(build_dir, model, board)):
        with locked(folder / LOCK, partial(note, f"another build is running in {folder}")):
            others = [path for path in sorted(folder.iterdir()) if not _is_own(path, own)]
            if others:
                removed += _remove_but(others, folder, note)
            else:
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


def _is_own(path: Path, folders: Collection[str]) -> bool:
    """Whether something directly in a build's folder was made by a build."""
    return path.name.startswith(".") or (
        path.name in folders and path.is_dir() and not path.is_symlink()
    )


def _remove_but(others: Sequence[Path], folder: Path, note: Callable[[str], None]) -> list[Path]:
    """Removes what builds made in a folder; its lock last, as that marks a build."""
    made = [path for path in sorted(folder.iterdir()) if path not in others]
    for path in made:
        if path.is_dir() and not path.is_symlink():
            remove(path, folder)
    for other in others:
        note(f"kept {other} (not written by cmbuild)")
    note(f"removed all else in {folder}")
    for path in sorted(made, key=lambda path: path.name == LOCK):
        path.unlink(missing_ok=True)
    return [path for path in made if not path.name.startswith(".")]


def _remove(folder: Path, root: Path, note: Callable[[str], None]) -> list[Path]:
    if not folder.exists():
        return []
    note(f"removed {folder}")
    remove(folder, root)
    return [folder]
