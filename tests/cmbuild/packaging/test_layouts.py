"""Layouts by the rules of those who read them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from harness.commands import NETWORK, Commands
from harness.packages import compile_in, run

# Arduino's library specification, "library.properties file format".
REQUIRED = ("name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url")
CATEGORIES = (
    *("Display", "Communication", "Signal Input/Output", "Sensors", "Device Control", "Timing"),
    *("Data Storage", "Data Processing", "Other", "Uncategorized"),
)

DOCUMENT = Path(__file__).parents[3] / "docs" / "packages.md"
(LISTED,) = re.findall(r"no warnings with\s+`(.*?)`", DOCUMENT.read_text(), re.DOTALL)
STRICT = (*LISTED.split(), "-Werror")
"""Those that the page on packages lists."""


def packaged(cmbuild: Commands, form: str) -> Path:
    words = ("--as", form, "--target", "cortex-m33", "--name", "kws", "-o", form)
    made = cmbuild("package", NETWORK, *words)
    assert made.exit_code == 0, made.stderr
    return cmbuild.folder / form


def compile_all(source: Path, folder: Path, *flags: str) -> None:
    """Compiles each file of a library on its own, with its `src` as the include folder."""
    core = ("-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=soft", *STRICT)
    files = [path for path in source.rglob("*") if path.suffix in (".c", ".S")]
    assert len(files) > 10
    for path in files:
        out = folder / f"{path.stem}.o"
        compile_in(source, ["arm-none-eabi-gcc", *core, *flags, "-O2", "-I."], path, out)


def test_arduino(cmbuild: Commands) -> None:
    folder = packaged(cmbuild, "arduino")
    lines = (folder / "library.properties").read_text().splitlines()
    fields = dict(line.split("=", 1) for line in lines)
    assert all(fields[key] for key in REQUIRED)
    assert re.fullmatch(r"[A-Za-z0-9][\w .-]{0,62}", fields["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", fields["version"])
    assert fields["category"] in CATEGORIES
    assert re.fullmatch(r"[a-z0-9_]+(,[a-z0-9_]+)*", fields["architectures"])
    assert {"rp2040", "renesas_portenta"} <= set(fields["architectures"].split(","))
    assert "for cortex-m33" in fields["sentence"] and "owner gives them" in fields["paragraph"]
    assert not fields["sentence"].lower().startswith(("arduino", "library"))
    assert (folder / "src" / fields["includes"]).is_file()
    assert not any(path.suffix in (".c", ".h", ".S") for path in folder.iterdir())
    compile_all(folder / "src", cmbuild.folder)


def test_arduino_computes_float_as_the_reference(tmp_path: Path) -> None:
    """Its boards pass no options: the sources themselves say that products are rounded."""
    from cmbuild.packaging.layouts import _FLOAT

    source = "float f(float a, float b, float c) { return a * b + c; }\n"
    (tmp_path / "fma.c").write_text(_FLOAT + source)
    core = ("-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=hard", "-O2")
    shown = run("arm-none-eabi-gcc", *core, "-S", tmp_path / "fma.c", "-o", "-")
    assert "vmul.f32" in shown and "vfma" not in shown


def test_platformio(cmbuild: Commands) -> None:
    folder = packaged(cmbuild, "platformio")
    manifest = json.loads((folder / "library.json").read_text())
    # PlatformIO's documentation of library.json: required fields, and limits of a name.
    assert {"name", "version"} <= manifest.keys()
    assert re.fullmatch(r"[^:;/,@<>]{1,50}", manifest["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", manifest["version"])
    assert len(manifest["description"]) <= 255
    assert manifest["license"] == "BSD-3-Clause"
    build = manifest["build"]
    assert (folder / build["srcDir"] / manifest["headers"]).is_file()
    flags = [flag for flag in build["flags"] if not flag.startswith("-I")]
    compile_all(folder / build["includeDir"], cmbuild.folder, *flags)
    assert shutil.which("arm-none-eabi-gcc")
