"""cmbuild boards"""

from __future__ import annotations

import click

from cmbuild.cli import options


@click.command("boards", short_help="List the boards, or describe one.")
@click.argument("name", required=False, shell_complete=options.complete_boards)
@options.everything
@options.json
def command(name: str | None, everything: bool, as_json: bool) -> int:
    """List the boards, or describe the board NAME.

    Boards are folders with a board.toml, found in ./boards, in the folders of
    $CMBUILD_BOARD_PATH, in installed packages, and in cmbuild itself; the first with
    a given name is used.
    """
    from cmbuild.boards.registry import board_folders
    from cmbuild.catalog import find_board
    from cmbuild.doctor.availability import builders, flashers, runners
    from cmbuild.report.boards import BoardReport, BoardsReport
    from cmbuild.report.choice import reporter

    folders = board_folders()
    if name is not None:
        board = find_board(name, folders)
        means = (list(ways(board)) for ways in (runners, flashers, builders))
        reporter(as_json).close([BoardReport(board, *means)], None)
    else:
        boards = [find_board(known, folders) for known in folders]
        reporter(as_json).close([BoardsReport(boards, everything)], None)
    return 0
