"""Machines without torch start warm from a bucket."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from harness.cold import cold_python
from harness.commands import Commands

from cmcompiler.frontend.job import versions

pytestmark = pytest.mark.long

BUCKET = "cache"
RUN = ("run", "mv2", "--board", "corstone300", "--json")
SHARED = {"export", "plan", "libs", "reference"}


def file_system(**options: bool) -> Any:
    import s3fs

    return s3fs.S3FileSystem(**options)


@pytest.fixture
def server() -> Iterator[str]:
    # Takes seconds, which every process that collects tests would spend.
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def environment(server: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    actual = {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_DEFAULT_REGION": "us-east-1",
        "CMBUILD_REMOTE_CACHE": f"s3://{BUCKET}/cmbuild",
    }
    for name, value in actual.items():
        monkeypatch.setenv(name, value)
    file_system().mkdir(BUCKET)
    return actual


def cold_run(python: Path, folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    """A run with an empty cache."""
    folder.mkdir()
    pins = "".join(f"{name}=={number}\n" for name, number in versions().items())
    (folder / "requirements.txt").write_text(pins)
    done = subprocess.run(
        [python, "-m", "cmbuild", *RUN],
        cwd=folder,
        env={**environment, "PATH": "/usr/bin:/bin", "CMBUILD_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document | {"stderr": done.stderr, "status": done.returncode}


def fetched(document: dict[str, Any]) -> set[str]:
    return {step["name"] for step in document.get("steps", ()) if step["state"] == "fetched"}


@pytest.mark.timeout(1800)
def test_a_cold_machine_without_torch(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]
) -> None:
    commands = replace(
        Commands.in_folder_of(tmp_path, tmp_path_factory),
        environment=environment,
        cache=tmp_path / "cache of the first machine",
    )
    made = commands(*RUN)
    assert made.exit_code == 0, made.stderr
    python = cold_python(tmp_path / "cold")
    missing = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
    assert missing.returncode != 0

    cold = cold_run(python, tmp_path / "a cold machine", environment)
    assert cold["status"] == 0, cold["stderr"]
    assert cold["verified"] and fetched(cold) == SHARED
    assert cold["memory"] == made.document["memory"]
    assert cold["instructions"] == made.document["instructions"]

    bucket = file_system(use_listings_cache=False)
    entries = {key: bucket.cat_file(key) for key in bucket.find(BUCKET)}
    assert {key.split("/")[2] for key in entries} == SHARED
    for index, (key, content) in enumerate(entries.items()):
        place = (index + 1) * len(content) // (len(entries) + 1)
        flipped = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        bucket.pipe_file(key, flipped)
        kind = key.split("/")[2]
        actual = cold_run(python, tmp_path / f"flipped {index}", environment)
        assert f"refused {kind}/" in actual["stderr"]
        assert kind not in fetched(actual) if kind != "reference" else True
        if kind == "export":
            assert (actual["status"], "torch" in actual["error"]) == (3, True)
        else:
            assert actual["status"] == 0 and actual["verified"], actual["stderr"]
        bucket.pipe_file(key, content)
