"""Exported programs of the zoo, shared by all tests and cached until their sources change."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from filelock import FileLock

from cmcompiler import zoo
from cmcompiler.frontend.job import ExportJob, dependencies, versions
from cmcompiler.frontend.weights import RANDOM
from harness.starter import starter

FOLDER = Path(__file__).parents[2] / "build" / "test-exports"

SLOW = ("mobilenet_v1_025", "mv3_small", "resnet8_large")
"""Models of the zoo that --long exports: others, or tests of theirs, have all their operators."""


def zoo_models(names: Sequence[str] = ()) -> list[object]:
    """Models of the zoo, by default all, as values for tests."""
    chosen = names or zoo.names()
    return [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in chosen]


class Programs(dict[str, Path]):
    """Folders of exported models of the zoo, in one process for half of those a run needs."""

    def __missing__(self, name: str) -> Path:
        names = [each for each in zoo.names() if (each in SLOW) == (name in SLOW)]
        half = names[names.index(name) % 2 :: 2]
        self.update(zip(half, exported(*half), strict=True))
        return self[name]


def without_published_weights() -> dict[str, str]:
    """An environment in which published weights can be neither found nor cached."""
    return {**os.environ, "TORCH_HOME": str(Path(__file__) / "no-such-folder")}


def export(
    jobs: list[Path], environment: Mapping[str, str] | None = None, *options: str
) -> subprocess.CompletedProcess[str]:
    """Runs `python -m cmcompiler export`, in a process of its own if it has an environment."""
    alone = [sys.executable, "-m", "cmcompiler"]
    program = starter().exporting() if environment is None else alone
    command = [*program, "export", *options, *map(str, jobs)]
    return subprocess.run(
        command,
        env=dict(environment or without_published_weights()),
        capture_output=True,
        text=True,
        check=False,
    )


def exported(*models: str, target: str = "cortex-m55") -> tuple[Path, ...]:
    """The folders of exported models with seeded random weights; exports missing ones together."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FileLock(FOLDER / "lock"):
        jobs = [_job(model, target) for model in models]
        missing = [job for job in jobs if not job.output.is_dir()]
        files = [FOLDER / f"{job.model}-{job.target}.json" for job in missing]
        for job, file in zip(missing, files, strict=True):
            for outdated in FOLDER.glob(f"{job.model}-{job.target}-*/"):
                shutil.rmtree(outdated)
            file.write_text(job.model_dump_json())
        if files:
            result = export(files)
            assert result.returncode == 0, result.stdout + result.stderr
    return tuple(job.output for job in jobs)


def _job(model: str, target: str) -> ExportJob:
    weights = RANDOM if zoo.get(model).expects_weights is not None else None
    job = ExportJob(model=model, target=target, weights=weights, output=FOLDER)
    digest = hashlib.sha256(repr(sorted(versions().items())).encode())
    for file in dependencies(job):
        digest.update(file.read_bytes())
    name = f"{model}-{target}-{digest.hexdigest()[:16]}"
    return job.model_copy(update={"output": FOLDER / name})
