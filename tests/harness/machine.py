"""A simulated machine for `cmbuildw`: a small checkout and a restricted PATH.

bash, Python, its venv and pip are real; pip may be that of a machine that has it already. The
project that pip installs is a stand-in without dependencies, so nothing here needs a network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[2]
BASE = Path(sys.base_prefix) / f"bin/python3.{sys.version_info.minor}"

PROGRAMS = (
    "bash cat cp df env find flock grep id mkdir mktemp mv readlink rm sed sh tail touch uname"
)
COMPILERS = ("arm-none-eabi-gcc", "arm-none-eabi-g++", "cc", "clang", "ccache")
FROM_APT = (*COMPILERS, "qemu-system-arm", "zsh", "fish")
TOOLS = (*FROM_APT, "cmake", "ninja")

PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "cmbuild"
version = "1"
"""

# The minimal build backend that pip needs. `cmbuild` prints its arguments. Files `hold` and `break`
# in the checkout make an installation wait or fail.
BACKEND = '''\
import os, pathlib, time, zipfile

STAND_IN = """
import sys
def main():
    print("cmbuild was given", sys.argv[1:])
    return 7 if "fail" in sys.argv else 0
"""

METADATA = """\\
Metadata-Version: 2.1
Name: cmbuild
Version: 1
Provides-Extra: export
Provides-Extra: build
Provides-Extra: test
"""
SCRIPTS = ("cmbuild", "ruff", "mypy", "clang-format", "pytest")

def build_editable(folder, settings=None, metadata=None):
    here = pathlib.Path.cwd()
    with (here / "installations").open("a") as log:
        log.write("x")
    (here / "index").write_text(os.environ.get("PIP_EXTRA_INDEX_URL", ""))
    while (here / "hold").exists():
        time.sleep(0.05)
    if (here / "break").exists():
        raise SystemExit("ERROR: broken on purpose")
    info = "cmbuild-1.dist-info"
    files = {
        "stand_in.py": STAND_IN,
        f"{info}/METADATA": METADATA,
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{info}/entry_points.txt": "[console_scripts]\\n"
        + "".join(f"{script} = stand_in:main\\n" for script in SCRIPTS),
        f"{info}/RECORD": "",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\\n" for path in files)
    name = "cmbuild-1-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    return name
'''

# The module `venv` of a machine that need not unpack pip anew: it lies beside this one.
VENV = """\
import pathlib, sys
sys.path = [each for each in sys.path if pathlib.Path(each) != pathlib.Path(__file__).parent]
import venv
venv.main(["--without-pip", *sys.argv[1:]])
"""

NEEDED = (
    *("cmbuild/*.py", "cmbuild/cache/*.py", "cmbuild/toolchain/**/*.py"),
    "compiler/cmcompiler/*.py",
    "compiler/cmcompiler/importer/*.py",
)
"""What `cmbuild.toolchain.lacking` imports, and little else."""

# Answers the questions of cmbuild.toolchain.lacking like the real ones.
TOOL = "#!/bin/sh\ncase $1 in -print-*) echo /its/part;; *) echo 'stand-in version 99.0';; esac\n"

APT = """\
#!/bin/sh
printf '%s ' "$@" >> '{log}'; echo >> '{log}'
for word; do case $word in
install) for tool in {tools}; do cp '{bin}/tool' "{bin}/$tool"; done;;
esac; done
exit {status}
"""


@dataclass
class Machine:
    """What a test can change, and the wrapper in it.

    Attributes:
        checkout: the copy that is set up; its path contains a space.
        bin: the only folder on PATH.
        torch_index: address of PyTorch's packages without CUDA; nothing answers at "".
        user: command prefix that switches user; empty for the user who runs the tests.
        pip: a folder with pip and VENV; None: every environment unpacks pip.
    """

    folder: Path
    user: tuple[str, ...] = ()
    torch_index: str = ""
    pip: Path | None = None

    @classmethod
    def make(cls, folder: Path, python: Path | None = None) -> Machine:
        machine = cls(folder)
        for place in (machine.checkout, machine.bin, machine.home):
            place.mkdir(parents=True)
        shutil.copy(ROOT / "cmbuildw", machine.checkout)
        for path in chain.from_iterable(map(ROOT.glob, NEEDED)):
            copy = machine.checkout / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        (machine.checkout / "pyproject.toml").write_text(PROJECT)
        (machine.checkout / "backend.py").write_text(BACKEND)
        for name in PROGRAMS.split():
            machine.link(name)
        (machine.bin / "python3").symlink_to(python or BASE)
        machine.write("dpkg", "#!/bin/sh\n")
        machine.write("tool", TOOL)
        for name in TOOLS:
            machine.write(name, TOOL)
        return machine

    @property
    def checkout(self) -> Path:
        return self.folder / "check out"

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def venv(self) -> Path:
        return self.checkout / ".venv"

    def share_pip(self, folder: Path) -> Path:
        """Makes a folder for `pip` of other machines, from this one's environment."""
        folder.mkdir()
        (folder / "venv.py").write_text(VENV)
        (site,) = self.venv.glob("lib/python3*/site-packages")
        for path in site.glob("pip*"):
            (folder / path.name).symlink_to(path)
        return folder

    @property
    def installations(self) -> int:
        """How often pip has installed the project."""
        log = self.checkout / "installations"
        return len(log.read_text()) if log.exists() else 0

    @property
    def apt_calls(self) -> list[str]:
        log = self.folder / "apt.log"
        return log.read_text().splitlines() if log.exists() else []

    def link(self, name: str) -> None:
        program = shutil.which(name)
        assert program, f"these tests need {name}"
        (self.bin / name).symlink_to(program)

    def write(self, name: str, text: str) -> None:
        """Puts a program on PATH, replacing any existing one."""
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def remove(self, *names: str) -> None:
        for name in names:
            (self.bin / name).unlink()

    def add_apt(self, *, works: bool = True) -> None:
        """Adds an apt-get that installs what is requested, or fails to."""
        text = APT.format(
            log=self.folder / "apt.log",
            bin=self.bin,
            tools=" ".join(FROM_APT) if works else "",
            status=0 if works else 100,
        )
        self.write("apt-get", text)

    def be_root(self, root: bool) -> None:
        self.write("id", f"#!/bin/sh\necho {0 if root else 1000}\n")

    @property
    def environment(self) -> dict[str, str]:
        # No index: these tests must not install anything from a network.
        nowhere = {"PIP_NO_INDEX": "1", "CMBUILD_TORCH_INDEX": self.torch_index}
        shared = {"PYTHONPATH": str(self.pip)} if self.pip else {}
        return {"PATH": str(self.bin), "HOME": str(self.home), **nowhere, **shared}

    def command(self, *arguments: str) -> list[str]:
        return [*self.user, str(self.checkout / "cmbuildw"), *arguments]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts it in its own process group, so that all of it can be killed."""
        return subprocess.Popen(
            self.command(*arguments),
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def unprivileged() -> tuple[str, ...]:
    """A command prefix that runs as a user without special write permission."""
    if os.geteuid() != 0:
        return ()
    setpriv = shutil.which("setpriv")
    assert setpriv, "as root, these tests need setpriv of util-linux"
    return (setpriv, "--reuid=65534", "--regid=65534", "--clear-groups")


def python_for(user: tuple[str, ...]) -> Path:
    """A Python with venv that the user may run: the tests' own, or the system's."""
    for python in (BASE, Path("/usr/bin/python3")):
        # Through env, because setpriv looks up the command itself with root's rights.
        command = [*user, "env", str(python), "-Ic", "import ensurepip"]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return python
    raise AssertionError("no Python that another user may run")
