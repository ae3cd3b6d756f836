"""Mutated configuration and cache entries: refused in one line, or usable."""

from __future__ import annotations

import io
import random
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.commands import NETWORK

from cmbuild.catalog import read_board
from cmbuild.errors import UsageError
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.performing import perform
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import RunRequest
from cmbuild.pipeline.stages.stage import Stage
from cmbuild.process import Processes
from cmbuild.projects.project import find_project
from cmbuild.remote.packing import pack
from cmbuild.remote.pins import pinned
from cmbuild.remote.sealing import seal
from cmbuild.remote.storage import RemoteCache
from fuzz.file_mutations import changed_entry, changed_text
from fuzz.trial import TooSlow, memory_limit, time_limit

ROOT = Path(__file__).parents[2]
LONGEST_MESSAGE = 2000
PROJECT = """\
[project]
model = "kws"
board = "corstone300"
boards = ["corstone300", "microbit"]

[models.kws]
source = "ds_cnn"
seed = 3
io = "int8"
feed = "rows"

[models.kws.budget.corstone300]
flash = "64K"
ram = 65536
arena = "1.5M"
instructions = "3.9M"
milliseconds = 12.5
float = "0%"
accuracy = "93%"
snr = "30 dB"

[ops]

[executorch]
root = "executorch"
"""
LOCK = '[[package]]\nname = "torch"\nversion = "2.9.0"\n\n[[package]]\nname = "numpy"\n'


@dataclass
class Tally:
    """What became of the mutants so far.

    Attributes:
        findings: the traceback or the reason, by the exception and its place.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    findings: dict[str, str] = field(default_factory=dict)


def _seeds(*patterns: str) -> list[str]:
    return [file.read_text("utf-8") for pattern in patterns for file in ROOT.glob(pattern)]


def fuzz_files(count: int, seed: int, tally: Tally) -> None:
    """So many mutants, half of them configuration and half entries; the same from the same seed."""
    # Two files of one name in an archive are what some mutants are about.
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trials = (_configuration(Path(folder)), _entries(Path(folder)))
        for number in range(count):
            chance = random.Random(f"{seed} {number}")
            _try(trials[number % 2], chance, tally)


def _try(trial: Callable[[random.Random], str], chance: random.Random, tally: Tally) -> None:
    try:
        with memory_limit(), time_limit():
            kind = trial(chance)
    except UsageError as error:
        kind = "configuration refused"
        one_line = "\n" not in error.message and 0 < len(error.message) < LONGEST_MESSAGE
        if not one_line:
            tally.findings.setdefault("message", repr(error.message[:3000]))
    except (Exception, TooSlow) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        signature = f"{type(error).__name__} in {Path(frame.filename).name}:{frame.name}"
        tally.findings.setdefault(signature, traceback.format_exc())
        kind = "crash"
    tally.kinds[kind] += 1


def _configuration(folder: Path) -> Callable[[random.Random], str]:
    readers: dict[str, tuple[list[str], Callable[[Path], object]]] = {
        "cmbuild.toml": ([PROJECT], _project),
        "board.toml": (
            _seeds("boards/*/board.toml"),
            read_board,
        ),
        "uv.lock": ([LOCK], lambda place: pinned(place, ["torch", "numpy"])),
    }

    def trial(chance: random.Random) -> str:
        name = chance.choice(sorted(readers))
        texts, read = readers[name]
        place = folder / "configuration"
        place.mkdir(exist_ok=True)
        (place / name).write_bytes(changed_text(chance.choice(texts), texts, chance))
        try:
            read(place)
        finally:
            (place / name).unlink()
        return "configuration read"

    return trial


def _project(place: Path) -> None:
    project = find_project(place)
    for name in project.models:
        project.checked(name)


def _entries(folder: Path) -> Callable[[random.Random], str]:
    remote = RemoteCache((folder / "share").as_uri(), lambda line: None)
    stages = list(_stages(folder))
    payloads = {stage: pack(stage.entry.folder, ["stamp"]) for stage in stages}

    def trial(chance: random.Random) -> str:
        stage = chance.choice(stages)
        payload = changed_entry(payloads[stage], chance)
        place = folder / "share" / stage.address.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(seal(stage.address, payload, None))
        with TemporaryDirectory(dir=folder) as fetched:
            if not remote.fetch(stage.address, Path(fetched), stage.inspect):
                return "entry refused"
            return "entry used" if _same(payload, payloads[stage]) else "entry used, though changed"

    return trial


def _same(payload: bytes, other: bytes) -> bool:
    with zipfile.ZipFile(io.BytesIO(payload)) as one, zipfile.ZipFile(io.BytesIO(other)) as two:
        return {name: one.read(name) for name in one.namelist()} == {
            name: two.read(name) for name in two.namelist()
        }


def _stages(folder: Path) -> Iterator[Stage]:
    """A plan and outputs of it."""
    request = compose(
        RunRequest,
        model=str(NETWORK),
        board="native",
        build_dir=folder / "build",
    )
    reference = Pipeline(WorkContext(Processes(), folder / "logs")).simulate(request).reference
    reference._folder = folder / "references"
    for stage in (reference.plan, reference):
        perform(stage, lambda: None, lambda line: None)
        yield stage


def line(tally: Tally, seconds: float) -> str:
    counts = ", ".join(f"{tally.kinds[kind]:,} {kind}" for kind in sorted(tally.kinds))
    total = sum(tally.kinds.values())
    return f"{seconds:.0f} s: {total:,} files: {counts}; {len(tally.findings)} findings"
