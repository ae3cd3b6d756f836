"""Files for an editor: VS Code's tasks and debugger, and how C files are compiled."""

from __future__ import annotations

from pathlib import Path

from cmbuild.boards.board import Board
from cmbuild.cache.folders import slug
from cmbuild.files import fill
from cmbuild.firmware.compile_commands import FILE, expected, merged
from cmbuild.toolchain.toolchains import HOST, installed

SKELETON = Path(__file__).parent / "skeleton"

_VSCODE = ("launch.json", "tasks.json", "c_cpp_properties.json")


def editor_files(
    folder: Path, model: str, board: Board, *, is_project: bool = True
) -> dict[Path, str]:
    """Texts of the files below a folder, for debugging a model on a board.

    Args:
        is_project: whether the folder has a project, which `cmbuild check` needs.
    """
    values = {
        "model": model,
        "name": slug(model),
        "board": board.name,
        "is_project": is_project,
        "suffix": "" if board.toolchain == HOST else ".elf",
    }
    names = _VSCODE if board.toolchain != HOST else _VSCODE[1:]
    texts = {folder / ".vscode" / name: fill(SKELETON / f"{name}.j2", values) for name in names}
    plan = folder / "build" / slug(model) / board.name / "plan"
    commands = expected(board, installed(board.toolchain), plan, folder)
    known = None if commands is None else merged(folder / FILE, commands)
    return texts if known is None else texts | {folder / FILE: known}
