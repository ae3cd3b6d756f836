"""In place of Zephyr's extension commands of west: the options that cmbuild uses, and no others.

An application is built by the stand-in's CMake package. It runs in QEMU, which as a simulator of
Zephyr's does not end by itself.
"""

from __future__ import annotations

import time
from argparse import REMAINDER, ArgumentParser, Namespace
from pathlib import Path

from harness.zephyr import BOARDS, Application, run_in_qemu
from west.commands import WestCommand


class Build(WestCommand):
    def __init__(self) -> None:
        super().__init__("build", "build an application", "Builds, or makes a target.")

    def do_add_parser(self, adder):  # type: ignore[no-untyped-def]
        parser: ArgumentParser = adder.add_parser(self.name)
        parser.add_argument("-b", "--board")
        parser.add_argument("-d", "--build-dir", type=Path, required=True)
        parser.add_argument("-t", "--target", choices=["run"])
        parser.add_argument("source", nargs="?", type=Path)
        parser.add_argument("cmake", nargs=REMAINDER)
        return parser

    def do_run(self, args: Namespace, unknown: list[str]) -> None:
        image = args.build_dir / "zephyr" / "zephyr.elf"
        if args.target == "run":
            print("-- west build: running target run", flush=True)
            print(run_in_qemu(image), flush=True)
            time.sleep(3600)
        words = [word for word in args.cmake if word != "--"]
        definitions = dict(word.removeprefix("-D").split("=", 1) for word in words)
        actual = [
            project.abspath
            for project in self.manifest.projects
            if (Path(project.abspath) / "zephyr" / "module.yml").is_file()
        ]
        modules = [*actual, *filter(None, [definitions.pop("EXTRA_ZEPHYR_MODULES", None)])]
        folder = args.build_dir.parent
        done = Application(args.source, BOARDS[args.board]).build(
            folder, **definitions, EXTRA_ZEPHYR_MODULES=";".join(modules)
        )
        print(done.stdout + done.stderr)
        if done.returncode:
            self.die("the build failed")
        print("modules: " + " ".join(modules))


class Flash(WestCommand):
    def __init__(self) -> None:
        super().__init__("flash", "flash an application", "Says what it would flash.")

    def do_add_parser(self, adder):  # type: ignore[no-untyped-def]
        parser: ArgumentParser = adder.add_parser(self.name)
        parser.add_argument("-d", "--build-dir", type=Path, required=True)
        return parser

    def do_run(self, args: Namespace, unknown: list[str]) -> None:
        print(f"flashing {(args.build_dir / 'zephyr' / 'zephyr.elf').stat().st_size} bytes")
