"""Zephyr's build as seen by our module: Kconfig, devicetree and CMake package are stand-ins."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import kconfiglib

from cmbuild.toolchain import tools

ROOT = Path(__file__).parents[2]
STANDIN = ROOT / "tests" / "zephyr" / "standin"
SAMPLES = ROOT / "zephyr" / "samples"
CMAKE, NINJA = (tools.find(name) for name in ("cmake", "ninja"))
"""Beside the interpreter, where pip puts them, or on PATH."""

_CHOSEN = re.compile(r"^\s*([\w,]+) = &(\w+);", re.MULTILINE)
_HELIUM = ("CPU_HAS_FPU", "ARMV8_M_DSP", "ARMV8_1_M_MVEI", "ARMV8_1_M_MVEF")


@dataclass(frozen=True)
class Memory:
    """A node of compatible zephyr,memory-region."""

    label: str
    region: str
    origin: int
    size: int


def memory(label: str, origin: int, kilobytes: int, region: str = "") -> Memory:
    return Memory(label, region or label.upper(), origin, kilobytes << 10)


@dataclass(frozen=True)
class Board:
    """A board as described by Zephyr v4.4.0 in boards/, soc/ and dts/.

    Attributes:
        cpu: the suffix of its CPU_CORTEX_ symbol.
        symbols: others that its SoC selects.
        flash, sram: labels of the chosen zephyr,flash and zephyr,sram.
        flags: gcc's, as set by CONFIG_FPU=y; gcc 12 does not know the M85 by name.
    """

    name: str
    cpu: str
    symbols: tuple[str, ...]
    memories: tuple[Memory, ...]
    flash: str
    sram: str
    flags: str

    @property
    def file_stem(self) -> str:
        """The stem of boards/<stem>.conf and .overlay that the build system looks for."""
        return self.name.replace("/", "_")


_DDR4 = memory("ddr4", 0x60000000, 256 << 10)
_CORSTONE300 = (
    memory("itcm", 0x10000000, 512),
    memory("sram", 0x11000000, 1024),
    memory("dtcm", 0x30000000, 512),
)
_M55 = "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard"

BOARDS = {
    board.name: board
    for board in (
        Board(
            "mps3/corstone300/an547",
            "M55",
            _HELIUM,
            (*_CORSTONE300, memory("isram", 0x31000000, 4096), _DDR4),
            "itcm",
            "dtcm",
            _M55,
        ),
        Board(
            "mps3/corstone300/fvp",
            "M55",
            _HELIUM,
            (*_CORSTONE300, memory("isram", 0x31000000, 2048), _DDR4),
            "itcm",
            "dtcm",
            _M55,
        ),
        Board(
            "mps4/corstone320/fvp",
            "M85",
            _HELIUM,
            (
                memory("itcm", 0x10000000, 32),
                memory("sram", 0x12000000, 2048),
                memory("dtcm", 0x30000000, 32),
                memory("isram", 0x31000000, 4096),
                memory("ddr4", 0x70000000, 256 << 10),
            ),
            "isram",
            "sram",
            "-march=armv8.1-m.main+mve.fp+fp.dp -mthumb -mfloat-abi=hard",
        ),
        Board(
            "rpi_pico2/rp2350a/m33",
            "M33",
            ("CPU_HAS_FPU", "SOC_SERIES_RP2350"),
            (memory("flash0", 0x10000100, 4095), memory("sram0", 0x20000000, 520)),
            "flash0",
            "sram0",
            "-mcpu=cortex-m33+nodsp -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16",
        ),
        Board(
            "ensemble_e8_dk/ae822fa0e5597ls0/rtss_he",
            "M55",
            (*_HELIUM, "ARCH_HAS_TIMING_FUNCTIONS"),
            (
                memory("itcm", 0x00000000, 256),
                memory("dtcm", 0x20000000, 256),
                memory("sram0", 0x02000000, 4096),
                memory("sram1", 0x02400000, 4096),
                memory("mram", 0x80000000, 5632),
            ),
            "mram",
            "dtcm",
            _M55,
        ),
        # It runs from RAM, into which its boot ROM loads at most 511 KB.
        Board(
            "nucleo_n657x0_q",
            "M55",
            (*_HELIUM, "ARCH_HAS_TIMING_FUNCTIONS"),
            (memory("image", 0x34180400, 511), memory("axisram1", 0x34000000, 1024)),
            "image",
            "axisram1",
            _M55,
        ),
    )
}


@dataclass
class Configuration:
    """Kconfig's result for a board.

    Attributes:
        values: of all symbols, as strings.
        warnings: kconfiglib's; most of them abort Zephyr's build.
    """

    values: dict[str, str]
    warnings: list[str]
    text: str = ""
    header: str = ""

    def __getitem__(self, name: str) -> str:
        return self.values[name]


@dataclass(frozen=True)
class Application:
    """A sample, configured for a board.

    Attributes:
        extra: configuration lines added to the sample's.
        overlay: devicetree in place of the sample's.
    """

    sample: Path
    board: Board
    extra: Sequence[str] = ()
    overlay: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)

    @property
    def chosen(self) -> dict[str, str]:
        """Labels of the chosen nodes, by name."""
        file = self.sample / "boards" / f"{self.board.file_stem}.overlay"
        text = self.overlay
        if text is None:
            text = file.read_text() if file.exists() else ""
        return dict(_CHOSEN.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)))

    def configuration(self, folder: Path) -> Configuration:
        """Kconfig's result as Zephyr merges it: the SoC, prj.conf, the board's .conf."""
        files = [self.sample / "prj.conf"]
        board = self.sample / "boards" / f"{self.board.file_stem}.conf"
        files += [board] if board.exists() else []
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "extra.conf").write_text("\n".join([*self.extra, ""]))
        return configure(self.board, [*files, folder / "extra.conf"], self.chosen, folder)

    def build(self, folder: Path, **definitions: object) -> subprocess.CompletedProcess[str]:
        """Configures and builds with the stand-in's CMake package; the image is zephyr/zephyr.elf.

        Raises:
            AssertionError: Kconfig warned.
        """
        folder.mkdir(parents=True, exist_ok=True)
        configuration = self.configuration(folder)
        assert configuration.warnings == []
        (folder / ".config").write_text(configuration.text)
        (folder / "autoconf.h").write_text(configuration.header)
        (folder / "devicetree_generated.h").write_text(self._devicetree())
        (folder / "dts.cmake").write_text(self._properties())
        (folder / "memory.ld").write_text(self._memory())
        values = {
            "ZEPHYR_BASE": STANDIN,
            "Zephyr_DIR": STANDIN / "share/zephyr-package/cmake",
            "EXTRA_ZEPHYR_MODULES": ROOT,
            "STANDIN_CONFIG": folder / ".config",
            "STANDIN_AUTOCONF": folder / "autoconf.h",
            "STANDIN_DEVICETREE": folder,
            "STANDIN_FLAGS": self.board.flags,
            "CMBUILD_COMMAND": f"{sys.executable};-m;cmbuild",
            **self.arguments,
            **definitions,
        }
        commands = [
            [
                CMAKE,
                "-G",
                "Ninja",
                f"-DCMAKE_MAKE_PROGRAM={NINJA}",
                "-S",
                self.sample,
                "-B",
                folder / "build",
            ]
            + [f"-D{name}={value}" for name, value in values.items()],
            [NINJA, "-C", folder / "build"],
        ]
        for command in commands:
            done = subprocess.run(
                list(map(str, command)), capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                break
        return done

    def _devicetree(self) -> str:
        lines = ["#pragma once"]
        lines += [
            f"#define DT_CHOSEN_{re.sub(r'[^0-9A-Za-z]', '_', name)} {label}"
            for name, label in self.chosen.items()
        ]
        lines += [f"#define REGION_{each.label} {each.region}" for each in self.board.memories]
        sections = "".join(
            f" {each.region} (NOLOAD) : {{ KEEP(*({each.region})) }} > {each.region}"
            for each in self.board.memories
            if each.label not in (self.board.flash, self.board.sram)
        )
        return "\n".join([*lines, f"#define LINKER_DT_SECTIONS(){sections}", ""])

    def _properties(self) -> str:
        lines = [
            f'set_property(GLOBAL PROPERTY "DT_CHOSEN|{name}" "{label}")'
            for name, label in self.chosen.items()
        ]
        lines += [
            f'set_property(GLOBAL PROPERTY "DT_PROP|{label}|zephyr,memory-region" {region})'
            for label, region in ((each.label, each.region) for each in self.board.memories)
        ]
        return "\n".join([*lines, ""])

    def _memory(self) -> str:
        names = {self.board.flash: "FLASH", self.board.sram: "RAM"}
        regions = (
            f"    {names.get(each.label, each.region)} : "
            f"ORIGIN = 0x{each.origin:08x}, LENGTH = 0x{each.size:x}"
            for each in self.board.memories
        )
        return "\n".join(["MEMORY", "{", *regions, "}", ""])


def configure(
    board: Board, files: Sequence[Path], chosen: Mapping[str, str], folder: Path
) -> Configuration:
    """Evaluates the module's Kconfig with the stand-in's symbols."""
    wanted = [f"CPU_CORTEX_{board.cpu}", *board.symbols]
    (folder / "soc.conf").write_text("".join(f"CONFIG_{name}=y\n" for name in wanted))
    with kconfig(set(chosen), folder) as config:
        config.load_config(str(folder / "soc.conf"))
        for file in files:
            config.load_config(str(file), replace=False)
        _warn_about_lost(config)
        config.write_config(str(folder / ".config"), header="")
        config.write_autoconf(str(folder / "autoconf.h"), header="")
        return Configuration(
            {name: symbol.str_value for name, symbol in config.syms.items()},
            list(config.warnings),
            (folder / ".config").read_text(),
            (folder / "autoconf.h").read_text(),
        )


@contextmanager
def kconfig(chosen: set[str], folder: Path) -> Iterator[kconfiglib.Kconfig]:
    """The stand-in's tree including our module, as added by Zephyr's scripts/zephyr_module.py."""
    modules = folder / "Kconfig.modules"
    modules.write_text(
        f'menu "cmbuild ({ROOT})"\nosource "{ROOT / "zephyr" / "Kconfig"}"\n'
        "config ZEPHYR_CMBUILD_MODULE\n\tbool\n\tdefault y\nendmenu\n"
    )
    functions = folder / "kconfigfunctions.py"
    functions.write_text(
        f"CHOSEN = {sorted(chosen)!r}\n"
        "def dt_chosen_enabled(kconf, _, chosen):\n"
        "    return 'y' if chosen in CHOSEN else 'n'\n"
        "functions = {'dt_chosen_enabled': (dt_chosen_enabled, 1, 1)}\n"
    )
    with _environment(srctree=str(STANDIN), STANDIN_MODULES=str(modules), CONFIG_="CONFIG_"):
        sys.path.insert(0, str(folder))
        sys.modules.pop("kconfigfunctions", None)
        try:
            yield kconfiglib.Kconfig("Kconfig", warn_to_stderr=False, suppress_traceback=True)
        finally:
            sys.path.remove(str(folder))
            sys.modules.pop("kconfigfunctions", None)


def _warn_about_lost(config: kconfiglib.Kconfig) -> None:
    """Zephyr's build fails if a symbol does not get its assigned value."""
    for symbol in config.unique_defined_syms:
        if symbol.user_value is None or symbol.choice is not None:
            continue
        wanted = symbol.user_value
        text = "nmy"[wanted] if isinstance(wanted, int) else str(wanted)
        if symbol.str_value != text:
            config.warnings.append(f"{symbol.name} is {symbol.str_value}, not {text}")


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    import os

    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def run_in_qemu(image: Path) -> str:
    """The output of an image for mps3/corstone300/an547, which exits by itself."""
    qemu = shutil.which("qemu-system-arm")
    assert qemu is not None
    machine = [qemu, "-M", "mps3-an547", "-display", "none", "-monitor", "none", "-serial", "none"]
    semihosting = ["-semihosting-config", "enable=on,target=native"]
    done = subprocess.run(
        [*machine, *semihosting, "-kernel", str(image)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
