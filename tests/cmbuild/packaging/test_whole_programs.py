"""Packages in builds that optimise whole programs at once: -flto."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from harness.packages import run
from harness.sources import ROOT

CORES = {
    "cortex-m55": ("-mfloat-abi=hard", "-mfpu=auto"),
    "cortex-m33": ("-mfloat-abi=hard", "-mfpu=auto"),
}
OPTIONS = ("-mthumb", "-std=c11", "-O2", "-flto", "-ffunction-sections", "-fdata-sections")
FLOAT = ("-ffp-contract=off", "-fno-math-errno", "-fno-tree-vectorize")
LINK = ("--specs=rdimon.specs", "-Wl,--gc-sections", "-lm")
_MAIN = """
#include "kws_vectors.h"
#include "gestures_vectors.h"

static KWS_ARENA(first);
static GESTURES_ARENA(second);

int main(void)
{
    struct kws kws;
    struct gestures gestures;
    kws_init(&kws, first, sizeof first);
    gestures_init(&gestures, second, sizeof second);
    kws_vectors_load(&kws, 0);
    gestures_vectors_load(&gestures, 0);
    kws_run(&kws);
    gestures_run(&gestures);
    return kws_vectors_check(&kws, 0) >= 0 || gestures_vectors_check(&gestures, 0) >= 0;
}
"""


def link(core: str, files: list[Path], includes: list[Path], folder: Path) -> Path:
    """A program of C and assembly files; without start-up code or memory of a board."""
    flags = (f"-mcpu={core}", *CORES[core], *OPTIONS, *FLOAT, *(f"-I{path}" for path in includes))
    objects = [folder / f"{index}.o" for index in range(len(files))]
    for file, output in zip(files, objects, strict=True):
        run("arm-none-eabi-gcc", *flags, "-c", file, "-o", output)
    run("arm-none-eabi-gcc", *flags, *objects, *LINK, "-o", folder / "program")
    return folder / "program"


@pytest.mark.parametrize("core", CORES)
def test_packages_link_into_one_program(
    core: str, packages: Callable[[str], list[Path]], tmp_path: Path
) -> None:
    (tmp_path / "main.c").write_text(_MAIN)
    files = [
        file
        for package in packages(core)
        for pattern in ("*.[cS]", "runtime/*.c")
        for file in sorted(package.glob(pattern))
    ]
    assert link(core, [*files, tmp_path / "main.c"], packages(core), tmp_path).is_file()


@pytest.mark.long
@pytest.mark.parametrize(
    ("core", "sets"), [("cortex-m55", ("scalar", "dsp", "mve")), ("cortex-m33", ("scalar", "dsp"))]
)
def test_every_kernel_links_into_one_program(
    core: str, sets: tuple[str, ...], tmp_path: Path
) -> None:
    runtime = ROOT / "runtime"
    best = {file.name: file for each in sets for file in (runtime / "isa" / each).glob("*.c")}
    kernels = sorted((runtime / "kernels").glob("*.c"))
    names = sorted(
        {
            line.split("(")[0].removeprefix("void ")
            for file in kernels
            for line in file.read_text().splitlines()
            if line.startswith("void cm_") and "(const struct cm_context *" in line
        }
    )
    assert len(names) > 50
    table = "".join(f"    {name},\n" for name in names)
    (tmp_path / "main.c").write_text(
        '#include "cmrt/program.h"\n'
        + "".join(f"cm_kernel {name};\n" for name in names)
        + f"cm_kernel *const volatile kernels[] = {{\n{table}}};\n"
        + "int main(void)\n{\n    kernels[0](NULL, NULL);\n    return 0;\n}\n"
    )
    files = [*kernels, *sorted(best.values()), tmp_path / "main.c"]
    assert link(core, files, [runtime / "include"], tmp_path).is_file()
