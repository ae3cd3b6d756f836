"""The module and its samples, built by the cross compiler and run, on a stand-in for Zephyr."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands
from harness.console import assert_console
from harness.exports import exported
from harness.zephyr import BOARDS, ROOT, SAMPLES, Application, run_in_qemu

from cmbuild.packaging.naming import check_name

Packager = Callable[..., Path]

QEMU = BOARDS["mps3/corstone300/an547"]
CHECKER = Application(
    SAMPLES / "mv2", QEMU, ["CONFIG_SHELL=y", "CONFIG_CMBUILD_SHELL=y", "CONFIG_LOG=y"]
)
"""mv2's application, which runs any model: activations and weights in memories of their own."""


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to build CHECKER in, with one model after the other."""
    return tmp_path_factory.mktemp("checker")


def built(application: Application, folder: Path, **definitions: object) -> Path:
    done = application.build(folder, **definitions)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build/zephyr/zephyr.elf"


def refused(application: Application, folder: Path, **definitions: object) -> str:
    done = application.build(folder, **definitions)
    assert done.returncode != 0
    return re.sub(r"\s+", " ", done.stdout + done.stderr)


@pytest.mark.long
def test_hello_adds(tmp_path: Path) -> None:
    """add.pte is packaged as a part of the build."""
    image = built(Application(SAMPLES / "hello", QEMU), tmp_path)
    assert_console("hello", run_in_qemu(image))


@pytest.mark.long
def test_digits_are_recognised(tmp_path: Path, package: Packager) -> None:
    folder = exported("digits")[0]
    made = package(
        folder / "model.pte", "--input", folder / "samples.npz", "-n", "100", "--name", "digits"
    )
    image = built(Application(SAMPLES / "digits", QEMU), tmp_path, MODEL=made)
    assert_console("digits", run_in_qemu(image))


def test_the_runner_checks_a_model(checker: Path, package: Packager) -> None:
    printed = run_in_qemu(built(CHECKER, checker, MODEL=package(NETWORK, "-n", "3")))
    assert_console("mv2", printed)
    assert len(re.findall("^cmrt sample ", printed, re.MULTILINE)) == 3
    assert "<inf> kernels for mve, clock of 25000 kHz\n" in printed
    assert re.search(
        "^shell: network: 1 inputs, 1 outputs, 5 ops, arena [0-9]+ bytes", printed, re.MULTILINE
    )
    assert re.search("^shell:    1 +[0-9]+  conv2d 3×3$", printed, re.MULTILINE)
    assert "shell: outputs equal the reference\nrun: 0\n" in printed
    assert printed.count("shell: outputs equal the reference\n") == 2
    assert "shell: there are 3 test vectors\nrun: -22\n" in printed
    assert "shell: no model is called nothing\nrun: -22\n" in printed


def test_a_wrong_output_is_a_mismatch(checker: Path, package: Packager) -> None:
    """The last byte of what is expected of the last sample is another one."""
    made = package(NETWORK, "-n", "2")
    data = bytearray((made / "network_vectors.bin").read_bytes())
    outputs = 2 * 3 * 4  # samples, classes, bytes of a float
    data[-(-outputs % 16) - 1] ^= 1
    (made / "network_vectors.bin").write_bytes(data)
    manifest = json.loads((made / "package.json").read_text())
    manifest["files"]["network_vectors.bin"] = hashlib.sha256(data).hexdigest()
    (made / "package.json").write_text(json.dumps(manifest))
    printed = run_in_qemu(built(CHECKER, checker, MODEL=made))
    assert "cmrt mismatch 1 0\n" in printed
    assert "cmrt end 1\n" in printed


@pytest.mark.long
@pytest.mark.parametrize(
    "board", ["mps4/corstone320/fvp", "rpi_pico2/rp2350a/m33"], ids=lambda name: name[:4]
)
def test_other_cores_link(tmp_path: Path, board: str) -> None:
    application = Application(SAMPLES / "hello", BOARDS[board])
    image = built(application, tmp_path)
    assert image.exists()
    if board.startswith("rpi"):
        assert application.configuration(tmp_path)["CMBUILD_ISA"] == "dsp"


@pytest.mark.parametrize("chosen", ["arena", "weights"])
def test_a_chosen_node_that_is_no_region_is_refused(tmp_path: Path, chosen: str) -> None:
    """The link script would not have it, and the linker's words would not say why."""
    overlay = f"/ {{ chosen {{\ncmbuild,{chosen} = &psram;\n}}; }};"
    said = refused(Application(SAMPLES / "hello", QEMU, overlay=overlay), tmp_path)
    assert f"the devicetree's chosen cmbuild,{chosen}, psram, is not a memory region" in said
    assert 'choose a node with compatible = "zephyr,memory-region"' in said


def test_a_package_for_other_kernels_is_refused(tmp_path: Path, package: Packager) -> None:
    application = Application(SAMPLES / "mv2", QEMU, ["CONFIG_CMBUILD_ISA_SCALAR=y"])
    said = refused(application, tmp_path, MODEL=package(NETWORK))
    assert "is for mve, the kernels are for scalar" in said
    assert "cmbuild package --target cortex-m55 --isa scalar" in said


def test_a_spoilt_package_is_refused(tmp_path: Path, package: Packager) -> None:
    made = package(NETWORK)
    with (made / "network_weights.bin").open("ab") as file:
        file.write(b"x")
    said = refused(CHECKER, tmp_path, MODEL=made)
    assert f"{made}/network_weights.bin has changed since it was packaged" in said


def test_a_model_in_float_asks_for_its_kernels(checker: Path, package: Packager) -> None:
    said = refused(CHECKER, checker, MODEL=package(PROGRAMS / "branches.pte"))
    assert "branches computes in float: it needs CONFIG_CMBUILD_FLOAT=y" in said


def test_cmbuild_that_is_not_there_is_named(tmp_path: Path) -> None:
    application = Application(SAMPLES / "hello", QEMU)
    said = refused(application, tmp_path, CMBUILD_COMMAND="no-such-cmbuild")
    assert "no-such-cmbuild" in said


def test_a_model_without_the_module_is_refused(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "hello", tmp_path / "hello")
    (tmp_path / "hello/prj.conf").write_text("CONFIG_LOG=y\n")
    (tmp_path / "hello/boards/mps3_corstone300_an547.conf").unlink()
    said = refused(Application(tmp_path / "hello", QEMU), tmp_path)
    assert "cmbuild_add_model: the configuration needs CONFIG_CMBUILD=y" in said


def test_several_models_share_an_image_and_an_arena(tmp_path: Path, package: Packager) -> None:
    """In C++: two packages, one made twice, and a program that the build packages."""
    app = tmp_path / "app"
    shutil.copytree(SAMPLES / "hello", app)
    (app / "src/app.c").unlink()
    shutil.copy(ROOT / "tests/zephyr/several.cpp", app / "src/app.cpp")
    shutil.copytree(package(NETWORK, "-n", "2", "--name", "kws"), app / "kws")
    shutil.copytree(package(NETWORK, "--io", "int8", "--name", "wake"), app / "wake")
    lists = (app / "CMakeLists.txt").read_text().replace("app.c)", "app.cpp)")
    more = "cmbuild_add_model(app kws)\ncmbuild_add_model(app wake NAME wake)\n"
    (app / "CMakeLists.txt").write_text(lists + more)
    settings = ["CONFIG_SHELL=y", "CONFIG_CMBUILD_SHELL=y"]
    image = built(Application(app, QEMU, settings), tmp_path / "out")
    printed = run_in_qemu(image)
    assert printed.startswith("hello 0 wrong\nkws 0 wrong\nwake 0 wrong\n")
    assert "cmrt end 0\n" in printed
    assert all(f"shell: {name}: " in printed for name in ("hello", "kws", "wake"))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("add.pte NAME hello", "a model called hello has already been added; NAME sets another"),
        pytest.param(
            *("kws NAME other", "/kws is called kws: cmbuild package --name other"),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *("kws", "CONFIG_CMBUILD_RUNNER checks one model; there are 2: hello;kws"),
            marks=pytest.mark.long,
        ),
    ],
)
def test_models_that_clash_are_refused(
    tmp_path: Path, package: Packager, call: str, said: str
) -> None:
    app = tmp_path / "app"
    shutil.copytree(SAMPLES / "hello", app)
    shutil.copytree(package(NETWORK, "--name", "kws"), app / "kws")
    with (app / "CMakeLists.txt").open("a") as lists:
        lists.write(f"cmbuild_add_model(app {call})\n")
    application = Application(app, QEMU, ["CONFIG_CMBUILD_RUNNER=y"])
    assert said in refused(application, tmp_path / "out")


@pytest.mark.parametrize(
    ("model", "passed"),
    [
        ("mv2", "mv2"),
        ("net.py:make", "{app}/net.py:make"),
        ("net.py", "{app}/net.py"),
        ("add.pte", "{app}/add.pte"),
    ],
)
def test_the_build_hands_models_to_cmbuild(tmp_path: Path, model: str, passed: str) -> None:
    app, script, log = tmp_path / "app", tmp_path / "cmbuild.py", tmp_path / "words"
    shutil.copytree(SAMPLES / "hello", app)
    (app / "net.py").touch()
    words = f"import pathlib, sys\npathlib.Path({str(log)!r}).write_text(repr(sys.argv[1:]))\n"
    script.write_text(words + "sys.exit(3)\n")
    lists = (app / "CMakeLists.txt").read_text()
    (app / "CMakeLists.txt").write_text(
        lists.replace("NAME hello)", "NAME adder SAMPLES 7 IO int8 FEED whole KEEP_STATE)")
    )
    command = f"{sys.executable};{script}"
    refused(Application(app, QEMU), tmp_path / "out", MODEL=model, CMBUILD_COMMAND=command)
    package, name, *options = ast.literal_eval(log.read_text())
    assert (package, name) == ("package", passed.format(app=app))
    wanted = "--as zephyr --name adder --target cortex-m55 --isa mve --samples 7 --io int8"
    assert " ".join(options[:15]) == f"{wanted} --feed whole --keep-state"


@pytest.mark.long
def test_a_file_of_a_colliding_name_gets_a_prefix(tmp_path: Path) -> None:
    app = tmp_path / "app"
    shutil.copytree(SAMPLES / "hello", app)
    (app / "add.pte").rename(app / "string.pte")
    lists = (app / "CMakeLists.txt").read_text()
    (app / "CMakeLists.txt").write_text(lists.replace(" NAME hello)", ")"))
    source = (app / "src/app.c").read_text()
    source = source.replace("hello", "model_string").replace("HELLO", "MODEL_STRING")
    (app / "src/app.c").write_text(source)
    image = built(Application(app, QEMU), tmp_path / "out", MODEL="string.pte")
    assert_console("hello", run_in_qemu(image))


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("kws", "kws"),
        ("Kws", "Kws"),
        ("my-model 2", "my_model_2"),
        ("2nd", "model_2nd"),
        ("int8_t", "model_int8"),
        ("_", "model"),
        ("x" * 99, "x" * 35 + "_"),
    ],
)
def test_names_of_packages_that_have_none(stem: str, name: str) -> None:
    script = ROOT / "zephyr/cmake/package_name.py"
    words = [sys.executable, "-I", "-S", str(script), stem]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert check_name(done.stdout.strip())[: len(name)] == name


def test_a_package_brings_a_projects_own_kernels(
    checker: Path, cmbuild: Commands, package: Packager
) -> None:
    shutil.copytree(ROOT / "tests/data/own_ops", cmbuild.folder, dirs_exist_ok=True)
    made = package(PROGRAMS / "own_operator.pte", "-n", "2")
    assert (made / "kernels/scale.c").is_file()
    printed = run_in_qemu(built(CHECKER, checker, MODEL=made))
    assert_console("mv2", printed)
