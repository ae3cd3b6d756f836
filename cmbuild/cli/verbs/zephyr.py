"""cmbuild zephyr"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cmbuild.cli import options
from cmbuild.zephyr.request import ApplicationRequest

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.stage import Stage
    from cmbuild.zephyr.stages import ApplicationStage

EPILOG = """\b
Examples:
  cmbuild zephyr init ws
  cmbuild zephyr run hello -b mps3/corstone300/an547 --workspace ws
  cmbuild zephyr flash digits -b rpi_pico2/rp2350a/m33 --model digits-package
  cmbuild zephyr build digits -b rpi_pico2/rp2350a/m33 -- -DCONFIG_SHELL=y

\b
SAMPLE is hello, mv2, digits, or your application's folder. Definitions after
-- go to its CMake.
Exit status: 0 fine; 1 failed; 2 usage; 3 something is missing on this machine:
west, a workspace, a toolchain, a simulator; 130 Ctrl-C.
"""


@click.group("zephyr", epilog=EPILOG, short_help="Build, run and flash under Zephyr, with west.")
def command() -> None:
    """Create a workspace with Zephyr, and build, run and flash samples in it, with west."""


_application = options.together(
    click.argument("sample"),
    click.argument("definitions", nargs=-1, metavar="[-- -DNAME=VALUE...]"),
    options.of(ApplicationRequest, board={"required": True, "shell_complete": None}),
    options.output,
)


@command.command("init", short_help="Create a workspace with Zephyr.")
@click.argument("workspace", type=options.FILE)
@options.force
@options.build_dir
@options.output
def init(workspace: Path, force: bool, build_dir: Path, as_json: bool, verbose: bool) -> int:
    """Create WORKSPACE with the Zephyr release that the samples need; takes a few gigabytes."""
    from cmbuild.cli.session import session
    from cmbuild.zephyr.stages import WorkspaceStage

    with session(build_dir.absolute() / "zephyr" / "logs", json=as_json, verbose=verbose) as work:
        build = build_dir.absolute() / "zephyr"
        stage = WorkspaceStage(workspace, work.processes, build, force)
        work.make([stage])
        work.note(
            f"next: cd {stage.folder} && west packages pip --install; "
            "west sdk install --toolchains arm-zephyr-eabi"
        )
    return work.status


@command.command("build", short_help="Build a sample or an application.")
@_application
def build(as_json: bool, verbose: bool, **chosen: Any) -> int:
    """Build SAMPLE for a board; the model is packaged as part of the build."""
    return _west(lambda application: application, as_json, verbose, chosen)


@command.command("run", short_help="Build and run in the board's simulator.")
@_application
def run(as_json: bool, verbose: bool, **chosen: Any) -> int:
    """Build SAMPLE and run it in Zephyr's simulator for the board until it ends."""
    from cmbuild.zephyr.stages import EmulateStage

    return _west(EmulateStage, as_json, verbose, chosen)


@command.command("flash", short_help="Build and flash onto a real board.")
@_application
def flash(as_json: bool, verbose: bool, **chosen: Any) -> int:
    """Build SAMPLE and flash it onto a real board with Zephyr's runner for it."""
    from cmbuild.zephyr.stages import WestFlashStage

    return _west(WestFlashStage, as_json, verbose, chosen)


def _west(
    goal: Callable[[ApplicationStage], Stage], as_json: bool, verbose: bool, chosen: dict[str, Any]
) -> int:
    from cmbuild.cli.session import session
    from cmbuild.zephyr.stages import ApplicationStage

    request = ApplicationRequest(**chosen)
    folder = request.folder
    with session(folder / "logs", json=as_json, verbose=verbose) as work:
        work.make_and_show([goal(ApplicationStage(request, work.processes))], [folder])
    return work.status
