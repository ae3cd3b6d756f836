"""cmbuild check"""

from __future__ import annotations

from pathlib import Path

import click

from cmbuild.cli import options
from cmbuild.cli.help import Grouped

EPILOG = """\b
Examples:
  cmbuild check
  cmbuild check kws --board rp2350
  cmbuild check --junit budgets.xml --json
  cmbuild check --set-budgets

Budgets are tables [models.NAME.budget.BOARD] of cmbuild.toml: flash, ram, arena, pte,
instructions, cycles, milliseconds, float, accuracy, snr. A failure does not stop the others.
--set-budgets writes what each verified run costs and 5 % more.

\b
Exit status: 0 all verified and within their budgets; 1 not; 2 usage, or a
mistake in cmbuild.toml; 3 something is missing here; 130 Ctrl-C.
"""


@click.command(
    "check",
    cls=Grouped,
    epilog=EPILOG,
    short_help="Run the project's models, and compare with their budgets.",
)
@click.argument("models", nargs=-1, shell_complete=options.complete_models)
@options.boards("Only on this board.")
@click.option("--junit", type=options.FILE, metavar="FILE", help="Write results as JUnit XML.")
@click.option(
    "--set-budgets", is_flag=True, help="Write budgets from this run into the project's file."
)
@options.force
@options.build_dir
@options.jobs
@options.output
def command(
    *,
    models: tuple[str, ...],
    boards: tuple[str, ...],
    junit: Path | None,
    set_budgets: bool,
    force: bool,
    build_dir: Path,
    jobs: int,
    as_json: bool,
    verbose: bool,
) -> int:
    """Build, run and verify all MODELS of the project on each of their boards, and compare flash,
    RAM, instructions, accuracy and more with their budgets.
    """
    from cmbuild.cli.session import session
    from cmbuild.outputs.delivery import check_delivery, deliver
    from cmbuild.pipeline.options import compose
    from cmbuild.pipeline.pipeline import build_folder
    from cmbuild.pipeline.request import RunRequest
    from cmbuild.projects import budgeting, check
    from cmbuild.projects.junit import to_junit
    from cmbuild.projects.project import needed_project
    from cmbuild.report.check import CheckReport

    check_delivery([junit], force)
    project = needed_project()
    choose = check.units if set_budgets else check.budgeted
    units = choose(project, models, boards)
    requests = [
        compose(RunRequest, model=unit.model, board=unit.board, build_dir=build_dir)
        for unit in units
    ]
    folders = [build_folder(request.build) for request in requests]
    with session(
        build_dir.absolute() / "logs", json=as_json, verbose=verbose, keep_going=True
    ) as work:
        runs = [work.simulated(request) for request in requests]
        due = [run for run in runs if work.failures.own(run) is None]
        work.make(due, folders, jobs)

        def judged() -> list[check.CheckedUnit]:
            return [
                check.checked(unit, run.result, work.failures.of(run))
                for unit, run in zip(units, runs, strict=True)
            ]

        results = judged()
        if set_budgets and project.file is not None:
            budgeting.set_budgets(project.file, results)
            units = check.units(needed_project(), models, boards)
            results = judged()
            work.note(f"wrote budgets into {project.file}")
        work.show(CheckReport(results))
        if junit is not None:
            deliver({junit: to_junit(results).encode()}, force)
        check.verdict(results)
    return work.status
