"""Accuracy over a data set: each sample once, whatever happens between the first and the last."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness.commands import NETWORK, Commands

from cmbuild.errors import UsageError
from cmbuild.workers.evaluation import ChunkTally, _enough, _prefix, parse_until

SAMPLES = 1100
EVAL = ("eval", NETWORK, "--board", "native", "--data", "data.npz", "--json")

DATA_FILE = """
import numpy as np

def samples():
    data = np.load("data.npz")
    print("reading")
    yield from zip(data["input_0"], data["labels"])
"""


@pytest.fixture
def cmbuild(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    return Commands.in_folder_of(tmp_path, tmp_path_factory)


@pytest.fixture
def data(cmbuild: Commands) -> Path:
    random = np.random.default_rng(1)
    inputs = random.uniform(-2, 3, (SAMPLES, 1, 3, 6, 5)).astype(np.float32)
    labels = random.integers(-1, 3, SAMPLES)
    file = cmbuild.folder / "data.npz"
    np.savez(file, input_0=inputs, labels=labels)
    return file


def chunks(cmbuild: Commands) -> list[Path]:
    return sorted((cmbuild.folder / "build").glob("network/native/eval-*/*.json"))


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[key] == other[key] for key in ("forms", "samples"))


def test_every_sample_counts_once(cmbuild: Commands, data: Path) -> None:
    running = cmbuild.start(*EVAL)
    while running.poll() is None and len(chunks(cmbuild)) < 2:
        pass
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert 2 <= len(chunks(cmbuild)) < 5

    resumed = cmbuild(*EVAL, "--resume")
    assert resumed.exit_code == 0, resumed.stderr
    first, last = chunks(cmbuild)[0], chunks(cmbuild)[-1]
    assert len(chunks(cmbuild)) == 5
    first.write_text('{"samples": 1')
    last.unlink()
    assert same(cmbuild(*EVAL, "--resume").document, resumed.document)

    whole = cmbuild("run", NETWORK, "--board", "native", "--input", data, "--json").document
    reference, device = resumed.document["forms"]
    assert resumed.document["samples"] == whole["accuracy"]["samples"]
    assert device["accuracy"] == pytest.approx(whole["accuracy"]["device"])
    assert reference["accuracy"] == pytest.approx(whole["accuracy"]["reference"])
    low, high = device["interval"]
    assert low < device["accuracy"] < high

    early = cmbuild(*EVAL, "--resume", "--until", "4%").document
    assert 0 < early["samples"] < resumed.document["samples"]


@pytest.mark.long
@pytest.mark.parametrize("place", ["data.npz", "data.py"])
def test_workers_give_the_same(place: str, cmbuild: Commands, data: Path) -> None:
    (cmbuild.folder / "data.py").write_text(DATA_FILE)
    alone = cmbuild(*EVAL).document
    spread = cmbuild(*EVAL, "--data", place, "--workers", "2")
    assert same(spread.document, alone), spread.stderr


def test_what_cannot_be_evaluated_is_one_line(cmbuild: Commands) -> None:
    np.savez(cmbuild.folder / "data.npz", input_0=np.zeros((4, 1, 3, 6, 5), np.float32))
    for words, message in (
        ((*EVAL,), "data.npz holds no labels"),
        ((*EVAL, "--until", "2"), "--until '2' is not a percentage between 0% and 50%"),
        (("eval", NETWORK, "--data", "data.npz", "--json"), "data.npz holds no labels"),
        (("eval", NETWORK, "--resume", "--json"), "need --data"),
    ):
        result = cmbuild(*words)
        assert (result.exit_code, message in json.loads(result.stdout)["error"]) == (2, True)


def test_folders_and_functions_give_the_same(cmbuild: Commands, data: Path) -> None:
    few = 300
    words = ("eval", NETWORK, "--board", "native", "--json", "-n", str(few), "--data")
    wanted = cmbuild(*words, "data.npz").document
    (cmbuild.folder / "data.py").write_text(DATA_FILE)
    unplaced = [word for word in words if word not in ("--board", "native")]
    assert same(cmbuild(*unplaced, "data.py:samples").document, wanted)
    assert len(chunks(cmbuild)) == 4
    resumed = cmbuild(*words, "data.py", "--resume")
    assert same(resumed.document, wanted), resumed.stderr

    arrays = np.load(data)
    for number, (array, label) in enumerate(zip(arrays["input_0"], arrays["labels"], strict=True)):
        folder = cmbuild.folder / "photos" / str(label)
        if number == few or label < 0:
            break
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{number}.npy", array)
    document = cmbuild("eval", NETWORK, "--board", "native", "--json", "--data", "photos").document
    assert document["samples"] == number


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("photos", "no such file or folder: photos"),
        ("data.py:samples", "no such file or folder: data.py"),
        ("empty", "empty has no folders of classes"),
        ("wrong", "wrong/0/0.npy holds float32 5×6×3, "),
        ("bad.py", "bad.py does not define samples"),
        ("bad.py:fails", "bad.py:3: ValueError: oh"),
        ("bad.py:shape", "bad.py:shape holds float32 1×2, "),
        ("bad.py:none", "bad.py:none holds no samples"),
    ],
)
def test_bad_data_is_one_line(place: str, message: str, cmbuild: Commands) -> None:
    root = cmbuild.folder
    (root / "empty").mkdir()
    (root / "wrong" / "0").mkdir(parents=True)
    np.save(root / "wrong" / "0" / "0.npy", np.zeros((5, 6, 3), np.float32))
    (root / "bad.py").write_text(
        "def fails():\n    yield 1.0, 1\n    raise ValueError('oh')\n\n"
        "def shape():\n    yield [1.0, 2.0], 1\n\n\nnone = []\n"
    )
    result = cmbuild("eval", NETWORK, "--board", "native", "--data", place)
    lines = result.stderr.splitlines()
    assert result.exit_code == 2 and "Traceback" not in result.stderr, result.stderr
    assert f"error: {message}" in result.stderr and lines[-1].startswith(("  try: ", "error: "))


def test_only_chunks_without_a_gap_before_them_count() -> None:
    one = ChunkTally(100, 90, 90)
    assert _prefix({0: one, 1: one, 3: one}, None) == ChunkTally(200, 180, 180)
    assert _prefix({1: one}, None) == ChunkTally(0, 0, 0, 0)
    assert not _enough({0: one}, 10, 0.01)
    many = {index: one for index in range(10)}
    assert _enough(many, 20, 0.02) and not _enough(many, 20, 0.01)
    assert _prefix(many, 0.03).samples < 1000


@pytest.mark.parametrize("text", ["1", "0%", "50%", "-1%", "x%"])
def test_shares_are_checked(text: str) -> None:
    with pytest.raises(UsageError, match="not a percentage"):
        parse_until(text)
    assert parse_until("0.5%") == 0.005


def test_what_the_float_model_gets_right_is_known_for_all_chunks_or_for_none() -> None:
    one, other = ChunkTally(4, 2, 2, 3), ChunkTally(6, 5, 5, 6)
    assert one + other == ChunkTally(10, 7, 7, 9)
    assert (one + ChunkTally(6, 5, 5)).real is None
