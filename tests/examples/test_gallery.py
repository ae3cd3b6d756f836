"""The gallery of worked examples: each runs as docs/gallery.md says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness.commands import Commands
from harness.packages import on_this_computer
from harness.sources import ROOT

from cmbuild.strictfile import tomllib

EXAMPLES = ROOT / "examples"
GALLERY = (ROOT / "docs" / "gallery.md").read_text()

DRIVER = """
#include <stdio.h>
#include <unistd.h>
#include "{main}"

/* Four clips of twelve frames: a tone that goes up, then down. */
int next_frame(float *bands)
{{
    static int now;
    if (now == 48) {{
        usleep(300000); /* the last score is still to come */
        return 0;
    }}
    int clip = now / 12, step = now % 12;
    float time = (float)step / 11.0f, pitch = (clip % 2 == 0 ? time : 1.0f - time) * 7.0f;
    for (int band = 0; band < 8; ++band) {{
        float distance = (float)band - pitch, near = distance * distance;
        bands[band] = 0.15f + (near < 0.25f ? 0.9f : near < 2.3f ? 0.4f : 0.0f);
    }}
    ++now;
    return 1;
}}

void heard(const float *scores)
{{
    static int frames;
    if (++frames % 12 == 0)
        printf("%s\\n", scores[1] > scores[2] ? "up" : "down");
    fflush(stdout);
}}
"""


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """A copy of the examples."""
    commands = Commands.in_folder_of(tmp_path_factory.mktemp("gallery"), tmp_path_factory)
    shutil.copytree(
        EXAMPLES, commands.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build")
    )
    return commands


@pytest.fixture(scope="module")
def checked(gallery: Commands) -> dict[str, Any]:
    result = gallery("check", "--json")
    assert result.exit_code == 0, result.stderr
    return result.document


@pytest.fixture(scope="module")
def package(gallery: Commands, checked: dict[str, Any]) -> Path:
    """The keyword spotter in C for this computer."""
    place = gallery.folder / "keywords_c"
    words = ("--target", "cortex-m4", "--isa", "scalar", "--name", "keywords")
    made = gallery("package", "keywords", *words, "--output-dir", place)
    assert made.exit_code == 0, made.stderr
    return place


def test_every_model_is_verified_and_within_its_budget(checked: dict[str, Any]) -> None:
    models = tomllib.loads((EXAMPLES / "cmbuild.toml").read_text())["models"]
    assert {unit["model"] for unit in checked["units"]} == set(models)
    assert [unit["failure"] for unit in checked["units"]] == [None] * len(models)
    assert all(re.search(rf"\b{name}\b", GALLERY) for name in models)


def test_a_layer_in_16_bits_is_worth_decibels(checked: dict[str, Any]) -> None:
    snr = {
        unit["model"]: limit["value"]
        for unit in checked["units"]
        for limit in unit["limits"]
        if limit["metric"] == "snr"
    }
    assert snr["anomaly_precise"] > snr["anomaly"] + 2


def test_words_are_heard_in_a_stream(package: Path, tmp_path: Path) -> None:
    printed = on_this_computer(tmp_path, package, EXAMPLES / "keywords" / "listen.c")
    assert printed.split() == ["up", "down"] * 3


def test_two_tasks_of_freertos_hear_the_same(package: Path, tmp_path: Path) -> None:
    main = tmp_path / "driver.c"
    main.write_text(DRIVER.format(main=EXAMPLES / "freertos" / "main.c"))
    stand_in = Path(__file__).with_name("freertos")
    flags = ("-isystem", str(stand_in), "-D_DEFAULT_SOURCE", "-pthread")
    assert on_this_computer(tmp_path, package, main, *flags).split() == ["up", "down"] * 2


@pytest.mark.long
def test_a_camera_gives_lines(gallery: Commands, checked: dict[str, Any], tmp_path: Path) -> None:
    words = ("--target", "cortex-m4", "--isa", "scalar", "--name", "person", "--feed", "rows")
    made = gallery("package", "person", *words, "--output-dir", tmp_path / "person")
    assert made.exit_code == 0, made.stderr
    camera = EXAMPLES / "person" / "camera.c"
    assert on_this_computer(tmp_path, tmp_path / "person", camera).split() == [
        *("nobody", "person"),
        *("nobody", "person"),
    ]


@pytest.mark.long
def test_a_worn_machine_is_noticed(gallery: Commands, checked: dict[str, Any]) -> None:
    done = subprocess.run(
        [sys.executable, "anomaly/watch.py"],
        cwd=gallery.folder,
        env={**os.environ, **gallery.variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"worn: .*; 8 of 8 noticed", done.stdout), done.stdout


def test_the_sine_of_a_tflite_program(gallery: Commands, checked: dict[str, Any]) -> None:
    angles = np.float32([0.5, 1.5, 3.0, 4.5, 6.0])
    quantized = np.clip(np.round(angles / 0.0246399) - 128, -128, 127).astype(np.int8)
    np.save(gallery.folder / "angles.npy", quantized.reshape(5, 1))
    words = ("--input", "angles.npy", "--output-dir", "sines", "--json")
    run = gallery("run", "sine", "--board", "mps2-an386", *words)
    assert run.exit_code == 0, run.stderr
    outputs = sorted((gallery.folder / "sines").rglob("*.npy"))
    sines = np.concatenate([np.load(file).reshape(-1) for file in outputs]) * 0.0082353
    assert sines.shape == angles.shape
    assert np.abs(sines - np.sin(angles)).max() < 0.1


def test_the_page_has_all_eight() -> None:
    assert len(re.findall(r"^## \d\. ", GALLERY, re.MULTILINE)) == 8
    for path in re.findall(r"\]\(\.\./examples/([^)]+)\)", GALLERY):
        assert (EXAMPLES / path).exists(), path
