"""`python -m cmcompiler export JOB.json...`: exports models, several in one process;
`python -m cmcompiler float JOB.json`: runs a float module on samples.

Each JOB.json is a cmcompiler.frontend.job.ExportJob, or a cmcompiler.frontend.float_model.FloatJob.
Standard output has one JSON object per line:

    {"event": "step", "job": 0, "step": "load"}            a step of a job begins
    {"event": "done", "job": 0, "output": DIR}             the job's folder is complete
    {"event": "error", "job": 0, "error": …, "hint": …, "kind": "invalid"}

where job counts the arguments from 0. A failed job does not stop the others. All other output,
including the user model's, goes to standard error. Exit status: 0 if all jobs succeed, otherwise
by the kind of the first error: 1 unsupported, 2 invalid, 3 missing; 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from cmcompiler.errors import CompilerError, ErrorKind
from cmcompiler.frontend.export import Exporter
from cmcompiler.frontend.float_model import FloatJob, compute
from cmcompiler.frontend.job import ExportJob, read
from cmcompiler.frontend.quiet import quiet

_EXIT_CODES = {ErrorKind.UNSUPPORTED: 1, ErrorKind.INVALID: 2, ErrorKind.MISSING: 3}
_INTERRUPTED = 130

Emit = Callable[..., None]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cmcompiler", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export", help="export models")
    export.add_argument("jobs", type=Path, nargs="+", metavar="JOB.json")
    export.add_argument("-v", "--verbose", action="store_true", help="keep logs and tracebacks")
    real = commands.add_parser("float", help="run a float module on samples")
    real.add_argument("job", type=Path, metavar="JOB.json")
    options = parser.parse_args(arguments)
    # The model's code may print: keep its output out of the events.
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w") as events:
        os.dup2(2, 1)

        def emit(**fields: object) -> None:
            print(json.dumps(fields, ensure_ascii=False), file=events, flush=True)

        try:
            if options.command == "float":
                return _compute(options.job, emit)
            return _export(options.jobs, options.verbose, emit)
        except KeyboardInterrupt:
            return _INTERRUPTED


def _compute(path: Path, emit: Emit) -> int:
    try:
        with quiet():
            compute(read(FloatJob, path))
    except CompilerError as error:
        emit(event="error", job=0, error=error.message, hint=error.hint, kind=error.kind.value)
        return _EXIT_CODES[error.kind]
    emit(event="done", job=0, output=str(path))
    return 0


def _export(paths: list[Path], verbose: bool, emit: Emit) -> int:
    index = 0
    exporter = Exporter(lambda step: emit(event="step", job=index, step=step), verbose)
    status = 0
    for index, path in enumerate(paths):
        try:
            job = read(ExportJob, path)
            exporter.run(job)
        except CompilerError as error:
            if verbose:
                traceback.print_exc()
            fields = {"error": error.message, "hint": error.hint, "kind": error.kind.value}
            emit(event="error", job=index, **fields)
            status = status or _EXIT_CODES[error.kind]
        except Exception as error:
            traceback.print_exc()
            message = f"unexpected {type(error).__name__}: {error}".partition("\n")[0]
            fields = {"hint": "its traceback is in the log", "kind": ErrorKind.UNSUPPORTED.value}
            emit(event="error", job=index, error=message, **fields)
            status = status or _EXIT_CODES[ErrorKind.UNSUPPORTED]
        else:
            emit(event="done", job=index, output=str(job.output))
    return status


if __name__ == "__main__":
    status = main()
    # A regular shutdown of torch takes more than a second, and all files are closed already.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
