"""Results on disk that have changed since they were made: never believed, made again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness.commands import NETWORK, Commands

from cmbuild.cache.store import STAMP, Condition, Entry, content_digest
from cmbuild.conformance.harness_image import HarnessStage
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.performing import perform
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import BoardChoice
from cmbuild.process import Processes

RUN = ("run", NETWORK, "--board", "microbit")


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def delete(path: Path) -> None:
    path.unlink()


DAMAGES: tuple[Callable[[Path], None], ...] = (flip, truncate, empty, delete)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the board's library."""
    folder = tmp_path_factory.mktemp("warm")
    warm = Commands(folder, folder / "cache")
    assert warm("build", NETWORK, "--board", "microbit").exit_code == 0
    return warm.cache


@pytest.fixture
def own(cmbuild: Commands, library: Path, tmp_path: Path) -> Commands:
    """cmbuild with a cache that no other test uses."""
    return replace(cmbuild, cache=shutil.copytree(library, tmp_path / "own-cache"))


def results(own: Commands) -> dict[str, Path]:
    """The folder of each kind of result."""
    build = own.folder / "build" / "network" / "microbit"
    shared = {path.parent.name: path for path in own.cache.glob("*/*") if (path / STAMP).exists()}
    return {"plan": build / "plan", "runner": build / "runner", **shared}


def test_any_change_to_any_file_is_seen(own: Commands) -> None:
    assert own(*RUN).exit_code == 0
    seen = 0
    for kind, folder in results(own).items():
        fingerprint = (folder / STAMP).read_text().partition("\n")[0]
        entry = Entry(folder)
        for file in filter(Path.is_file, sorted(folder.rglob("*"))):
            whole = file.read_bytes()
            for damage in DAMAGES if whole else ():
                assert entry.condition(fingerprint) is Condition.WHOLE
                damage(file)
                assert entry.condition(fingerprint) is not Condition.WHOLE, (kind, file, damage)
                file.write_bytes(whole)
                seen += 1
    assert seen > 100


@pytest.mark.parametrize(
    ("kind", "damage"),
    [("plan", flip), ("runner", truncate), ("libraries", empty), ("references", delete)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_damaged_result_is_made_again(
    own: Commands, kind: str, damage: Callable[[Path], None]
) -> None:
    good = own(*RUN, "--json").document
    files = filter(Path.is_file, results(own)[kind].rglob("*"))
    damage(max(files, key=lambda path: path.stat().st_size))
    again = own(*RUN)
    assert again.exit_code == 0, again.stderr
    assert "has changed since it was made; made again" in again.stdout
    result = own(*RUN, "--json")
    assert result.done == {"simulate"}
    assert result.document["memory"] == good["memory"]


def restamp(folder: Path) -> None:
    """As another machine's result would be, once fetched."""
    fingerprint, _, _ = (folder / STAMP).read_text().partition("\n")
    (folder / STAMP).write_text(f"{fingerprint}\n{content_digest(folder)}")


def test_content_without_sense_is_made_again(own: Commands) -> None:
    good = own(*RUN, "--json").document
    folders = results(own)
    for kind, damage in (("plan", "plan.json"), ("runner", "image.json"), ("references", "")):
        file = folders[kind] / damage if damage else next(folders[kind].glob("*.npz"))
        file.write_text("{}")
        restamp(folders[kind])
    again = own(*RUN)
    assert again.exit_code == 0, again.stderr
    assert again.stdout.count("cannot be used; made again") == 3
    result = own(*RUN, "--json")
    assert result.done == {"simulate"}
    assert result.document["memory"] == good["memory"]


def test_a_damaged_kernel_harness_is_made_again(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = shutil.copytree(library, tmp_path / "own-cache")
    monkeypatch.setenv("CMBUILD_CACHE", str(cache))
    notes: list[str] = []

    def image() -> Path:
        pipeline = Pipeline(WorkContext(Processes(), tmp_path))
        stage = HarnessStage.of(pipeline, BoardChoice(board="microbit"))
        for each in (stage.library, stage):
            perform(each, lambda: None, notes.append)
        return stage.image

    file = image()
    flip(file)
    damaged = file.read_bytes()
    assert image().read_bytes() != damaged
    assert image() == file
    assert notes == [f"{file.parent} has changed since it was made; made again"]


def test_flipped_weights_are_not_verified_against_themselves(own: Commands) -> None:
    """The reference and the image would agree on the same wrong weights."""
    output = own.folder / "build" / "network" / "microbit" / "simulate" / "output_0.npy"
    assert own(*RUN).exit_code == 0
    right = np.load(output)
    flip(results(own)["plan"] / "weights.bin")
    assert own(*RUN).exit_code == 0
    assert np.array_equal(np.load(output), right)
