"""The wrapper on machines that lack things, at the first start and at later ones."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from harness.machine import PROJECT, TOOLS, Machine, python_for, unprivileged

FOR_TESTS = "clang-19 lld-19 libstdc++-arm-none-eabi-newlib ccache zsh fish"
PACKAGES = "gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm gcc libc6-dev"


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine whose set-up is over."""
    machine = Machine.make(tmp_path_factory.mktemp("ready") / "machine")
    done = machine.run()
    assert done.returncode == 0, done.stderr
    return machine


@pytest.fixture(scope="module")
def pip(ready: Machine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ready.share_pip(tmp_path_factory.mktemp("shared") / "pip")


@pytest.fixture
def machine(tmp_path: Path, pip: Path) -> Machine:
    """A machine that has never been set up, where environments need not unpack pip."""
    machine = Machine.make(tmp_path / "machine")
    machine.pip = pip
    return machine


def wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.02)


def test_the_first_start_sets_up_and_forwards(tmp_path: Path):
    machine = Machine.make(tmp_path / "machine")
    done = machine.run("run", "mv2", "--board", "a b")
    assert done.returncode == 0
    assert done.stdout == "cmbuild was given ['run', 'mv2', '--board', 'a b']\n"
    said = done.stderr.splitlines()
    assert said[0] == f"setting up cmbuild; details in {machine.venv}.log"
    assert [
        re.sub(r"3[.]\S+", "3.x", line.rpartition(" ")[0].rpartition(" ")[0]) for line in said[1:]
    ] == [
        "  virtual environment, Python 3.x",
        "  6.3 GB with PyTorch: pip install cmbuild[export]",
    ]
    assert machine.apt_calls == []


@pytest.fixture
def index(tmp_path: Path) -> Iterator[str]:
    """Serves what looks like PyTorch's index."""
    (tmp_path / "whl/torch").mkdir(parents=True)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "whl"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_pytorch_without_cuda_where_its_index_answers(machine: Machine, index: str):
    machine.torch_index = index
    done = machine.run()
    assert done.returncode == 0
    assert "  with PyTorch for CPUs: pip install cmbuild[export]" in done.stderr
    assert (machine.checkout / "index").read_text().split() == [index]


def test_an_index_that_does_not_answer_is_no_word_lost(machine: Machine, index: str):
    machine.torch_index = f"{index}/absent"
    done = machine.run()
    assert done.returncode == 0
    assert "6.3 GB with PyTorch" in done.stderr
    assert "absent" not in done.stderr
    assert (machine.checkout / "index").read_text() == ""


def test_locked_installs_what_the_lock_file_says(machine: Machine):
    (machine.checkout / "constraints.txt").write_text("cmbuild==2\n")
    assert machine.run().returncode == 0, "without --locked it does not matter"
    done = machine.run("--locked", "boards")
    assert done.returncode == 3
    assert "error: pip: " in done.stderr
    (machine.checkout / "constraints.txt").write_text("cmbuild==1\n")
    done = machine.run("--locked", "boards")
    assert (done.returncode, done.stdout) == (0, "cmbuild was given ['boards']\n")
    before = machine.installations
    assert machine.run("--locked").returncode == 0
    assert machine.installations == before


def test_completion_sets_nothing_up(machine: Machine):
    words = [*machine.command()]
    environment = {**machine.environment, "_CMBUILD_COMPLETE": "bash_complete"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not machine.venv.exists()


def test_later_starts_only_forward(ready: Machine):
    before = ready.installations
    # Nothing but these is needed, so nothing else is run.
    alone = ready.folder / "alone"
    alone.mkdir()
    for name in ("bash", "env", "readlink"):
        (alone / name).symlink_to(ready.bin / name)
    done = subprocess.run(
        ready.command("fail"), env={"PATH": str(alone)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == "cmbuild was given ['fail']\n"
    assert ready.installations == before


def test_byte_code_is_there_and_kept(ready: Machine):
    assert list((ready.checkout / "cmbuild").rglob("tools.*.pyc"))
    print_it = "#!/bin/sh\nprintenv PYTHONDONTWRITEBYTECODE || echo kept\n"
    ready.link("printenv")
    before = (ready.venv / "bin/cmbuild").read_text()
    (ready.venv / "bin/cmbuild").write_text(print_it)
    said = subprocess.run(
        ready.command(),
        env={**ready.environment, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    (ready.venv / "bin/cmbuild").write_text(before)
    assert said == "kept\n"


def test_an_interrupt_waits_for_python(ready: Machine):
    """As Python itself has no handler at first, and then one that prints a traceback."""
    program = ready.venv / "bin/cmbuild"
    before = program.read_text()
    code = "import signal; print(*signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    program.write_text(f"#!{sys.executable}\n{code}\n")
    done = ready.run()
    program.write_text(before)
    assert done.stdout == f"{signal.SIGINT:d}\n", done


def test_it_works_through_a_link(ready: Machine, tmp_path: Path):
    link = tmp_path / "cmbuild"
    link.symlink_to(ready.checkout / "cmbuildw")
    done = subprocess.run(
        [link, "boards"], env=ready.environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("cmbuild was given ['boards']\n", "")


def test_only_tests_ask_for_another_compiler(machine: Machine):
    machine.remove("clang")
    machine.add_apt()
    machine.be_root(True)
    assert "apt-get" not in machine.run().stderr
    done = machine.run("test")
    assert "apt-get install clang-19 lld-19 " in done.stderr
    assert done.returncode == 0


def test_tests_ask_for_their_tools_first(machine: Machine):
    assert machine.run().returncode == 0
    done = machine.run("test", "-k", "it")
    assert done.returncode == 0
    assert "cmbuild[export,test]" in done.stderr
    said = done.stdout.splitlines()
    assert said[:3] == [
        "== pytest",
        "cmbuild was given ['-n', '2', '--dist', 'worksteal', '-k', 'it']",
        "== ruff check",
    ]
    assert [line for line in said[3:] if line.startswith("==")] == [
        "== ruff format",
        "== mypy",
        "== clang-format",
    ]
    assert machine.run("test").stderr == ""


def test_one_failed_check_fails_the_tests(machine: Machine):
    assert machine.run("test").returncode == 0
    # It ends last of all, and only if it runs beside the tests.
    tests_ran = machine.checkout / "tests-ran"
    (machine.venv / "bin/pytest").write_text(f"#!/bin/sh\n: >'{tests_ran}'\n")
    (machine.venv / "bin/mypy").write_text(
        f"#!/bin/sh\nuntil [ -e '{tests_ran}' ]; do :; done\n"
        "for each in 1 2 3; do echo out $each; echo err $each >&2; done\nexit 1\n"
    )
    done = machine.run("test")
    assert done.returncode == 1
    assert done.stdout.startswith("== pytest\n== ruff check\n"), "the tests run all the same"
    lines = "".join(f"out {each}\nerr {each}\n" for each in (1, 2, 3))
    assert f"== mypy\n{lines}== clang-format\n" in done.stdout
    assert done.stdout.endswith("==== 1 of 4 checks failed: mypy ====\n")


def test_failed_tests_fail(machine: Machine):
    done = machine.run("test", "fail")
    assert done.returncode == 7


def test_root_installs_what_is_missing(machine: Machine):
    machine.remove(*TOOLS)
    machine.add_apt()
    machine.be_root(True)
    done = machine.run("doctor")
    assert done.returncode == 0
    update, install = machine.apt_calls
    assert update.endswith(" update ")
    assert install.endswith(f"install -y --no-install-recommends {PACKAGES} ")
    assert all("Acquire::http::Timeout=20" in call for call in (update, install))
    assert f"apt-get install {PACKAGES} " in done.stderr
    assert "cmbuild[export,build]" in done.stderr, "cmake and ninja were missing as well"
    assert machine.run("doctor").stderr == ""


def test_old_cmake_is_taken_from_pip(machine: Machine):
    machine.write("cmake", "#!/bin/sh\necho cmake version 3.22.1\n")
    assert "cmbuild[export,build]" in machine.run().stderr


def test_a_compiler_without_newlib_is_no_compiler(machine: Machine):
    machine.write(
        "arm-none-eabi-gcc",
        "#!/bin/sh\ncase $1 in --version) echo gcc 12.2.1;;\n"
        "*) echo 'fatal error: math.h: No such file or directory'; exit 1;; esac\n",
    )
    machine.be_root(False)
    wanted = "not installed: gcc-arm-none-eabi libnewlib-arm-none-eabi (needed to build for boards"
    assert wanted in machine.run().stderr


def test_sudo_installs_where_it_asks_for_no_password(machine: Machine):
    machine.remove(*TOOLS)
    machine.add_apt()
    machine.be_root(False)
    machine.write("sudo", '#!/bin/sh\n[ "$1" = -n ] && shift && exec "$@"\n')
    machine.link("true")
    done = machine.run("doctor")
    assert done.returncode == 0
    assert len(machine.apt_calls) == 2
    assert "warning" not in done.stderr


@pytest.mark.parametrize("sudo", [None, "#!/bin/sh\necho a password is required >&2\nexit 1\n"])
def test_without_rights_pip_still_gives_what_it_can(machine: Machine, sudo: str | None):
    machine.remove(*TOOLS)
    machine.add_apt()
    machine.be_root(False)
    if sudo:
        machine.write("sudo", sudo)
    done = machine.run("export", "mv2")
    assert (done.returncode, done.stdout) == (0, "cmbuild was given ['export', 'mv2']\n")
    assert machine.apt_calls == []
    warning = (
        f"warning: not installed: {PACKAGES} (needed to build for boards and simulate them)\n"
        f"  try: sudo apt-get update && sudo apt-get install {PACKAGES}\n"
    )
    assert done.stderr.endswith(warning)

    again = machine.run("export", "mv2")
    assert again.stderr.endswith(warning)
    assert machine.installations == 1, "pip has nothing to do again"

    tests = machine.run("test")
    assert tests.returncode == 3
    lacking = f"{PACKAGES} {FOR_TESTS}"
    assert f"error: not installed: {lacking}\n  try: sudo apt-get update" in tests.stderr

    for name in TOOLS:
        machine.write(name, (machine.bin / "tool").read_text())
    machine.run("doctor")
    assert machine.run("doctor").stderr == ""


def test_apt_without_a_network_names_the_command(machine: Machine):
    machine.remove(*TOOLS)
    machine.add_apt(works=False)
    machine.be_root(True)
    done = machine.run("doctor")
    assert f"  apt-get install {PACKAGES} failed\n" in done.stderr
    assert done.stderr.endswith(f"  try: apt-get update && apt-get install {PACKAGES}\n")


def test_pip_without_a_network_is_one_line(machine: Machine):
    (machine.checkout / "backend.py").unlink()
    (machine.checkout / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    )
    done = machine.run("doctor")
    assert done.returncode == 3
    assert done.stdout == ""
    *_, error, hint = done.stderr.splitlines()
    assert error == "error: pip: No matching distribution found for hatchling"
    assert hint.startswith("  try: check the network; ") and f"{machine.venv}.log" in hint


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("uname", "echo Darwin arm64", "error: cmbuild runs on Linux x86-64; this is Darwin arm64"),
        ("python3", "exit 1", "error: no Python 3.10 to 3.14 on PATH"),
    ],
)
def test_other_machines_get_an_honest_line(machine: Machine, name: str, text: str, message: str):
    machine.write(name, f"#!/bin/sh\n{text}\n")
    done = machine.run("doctor")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[0] == message


def test_a_full_disk_is_seen_before_anything_is_installed(machine: Machine):
    machine.write("df", "#!/bin/sh\necho Avail\necho 5000000\n")
    done = machine.run("doctor")
    assert done.returncode == 3
    assert f"error: setting up needs 10 GB of free disk; {machine.venv} has 4882 MB" in done.stderr
    assert machine.installations == 0


def test_a_full_disk_does_not_stop_later_starts(ready: Machine):
    df = (ready.bin / "df").resolve()
    ready.write("df", "#!/bin/sh\necho Avail\necho 0\n")
    try:
        assert ready.run("doctor").returncode == 0
    finally:
        ready.remove("df")
        (ready.bin / "df").symlink_to(df)


def test_a_changed_project_is_installed_again(machine: Machine):
    machine.run()
    (machine.checkout / "pyproject.toml").write_text(f"{PROJECT}# changed\n")
    assert "pip install" in machine.run().stderr
    assert machine.run().stderr == ""
    assert machine.installations == 2


def test_a_copied_checkout_gets_its_own_environment(machine: Machine):
    machine.run()
    copy = Machine(machine.folder.with_name("copy"), pip=machine.pip)
    shutil.copytree(machine.folder, copy.folder, symlinks=True)
    done = copy.run("boards")
    assert (done.returncode, done.stdout) == (0, "cmbuild was given ['boards']\n")
    assert "virtual environment" in done.stderr
    assert str(copy.checkout) in (copy.venv / "bin/cmbuild").read_text()


def test_an_environment_whose_python_has_gone_is_made_again(machine: Machine):
    machine.run()
    (machine.venv / "bin/python").unlink()
    assert machine.run("boards").stdout == "cmbuild was given ['boards']\n"


def test_two_at_once_set_up_once(machine: Machine):
    hold = machine.checkout / "hold"
    hold.touch()
    first = machine.start("boards")
    wait_for(lambda: machine.installations == 1)
    second = machine.start("models")
    assert second.stderr is not None
    assert second.stderr.readline() == "waiting for another set-up of this checkout\n"
    hold.unlink()
    assert first.communicate()[0] == "cmbuild was given ['boards']\n"
    assert second.communicate() == ("cmbuild was given ['models']\n", "")
    assert machine.installations == 1


def test_a_killed_set_up_is_safe_to_repeat(machine: Machine):
    hold = machine.checkout / "hold"
    hold.touch()
    killed = machine.start("boards")
    wait_for(lambda: machine.installations == 1)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    hold.unlink()
    # As if pip had been cut off inside of a package: described, but without its files.
    site = next(machine.venv.glob("lib/python3*/site-packages"))
    (site / "cmbuild-1.dist-info").mkdir()
    (site / "cmbuild-1.dist-info/METADATA").write_text("Name: cmbuild\nVersion: 1\n")
    done = machine.run("boards")
    assert (done.returncode, done.stdout) == (0, "cmbuild was given ['boards']\n")
    assert machine.run("boards").stderr == ""


def test_a_broken_installation_leaves_no_stamp(machine: Machine):
    (machine.checkout / "break").touch()
    assert machine.run("boards").returncode == 3
    (machine.checkout / "break").unlink()
    assert machine.run("boards").returncode == 0


@pytest.fixture
def read_only() -> Iterator[Machine]:
    """A machine whose checkout its user cannot write to."""
    with tempfile.TemporaryDirectory(prefix="cmbuild-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        user = unprivileged()
        machine = Machine.make(folder / "machine", python_for(user))
        machine.user = user
        for written in ("installations", "index"):
            (machine.checkout / written).touch()
            (machine.checkout / written).chmod(0o666)
        machine.home.chmod(0o777)
        machine.checkout.chmod(0o555)
        yield machine
        machine.checkout.chmod(0o755)


def test_a_read_only_checkout_is_set_up_in_the_cache(read_only: Machine):
    done = read_only.run("boards")
    assert (done.returncode, done.stdout) == (0, "cmbuild was given ['boards']\n"), done.stderr
    assert not read_only.venv.exists()
    assert list((read_only.home / ".cache/cmbuild").glob("venv-*/bin/cmbuild"))
    assert read_only.run("boards").stderr == ""


def test_nowhere_to_write_is_one_line(read_only: Machine):
    read_only.home.chmod(stat.S_IRUSR | stat.S_IXUSR | stat.S_IROTH | stat.S_IXOTH)
    done = read_only.run("boards")
    assert done.returncode == 3
    message, hint = done.stderr.splitlines()
    assert message.startswith(f"error: cannot write {read_only.home}/.cache/cmbuild/venv-")
    assert hint.startswith("  try: CMBUILD_CACHE=FOLDER")
