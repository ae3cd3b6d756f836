"""Pages of HTML that commands write, and `cmbuild run --layers`."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands
from harness.page import Page, assert_same_numbers

from cmbuild.report.html.chart import Point
from cmbuild.report.html.plot_page import plot_page

IMAGE = PROGRAMS / "image.pte"
RUN = ("run", NETWORK, "--board", "mps2-an505")


def test_a_run_writes_it(cmbuild: Commands) -> None:
    result = cmbuild(*RUN, "--html", "out/page.html", "--json")
    assert result.exit_code == 0, result.stderr
    parsed = Page((cmbuild.folder / "out" / "page.html").read_text())
    assert_same_numbers(parsed.numbers, result.document)
    assert "memory.regions.0.size" in parsed.numbers


def test_layers_have_weights_and_costs(cmbuild: Commands) -> None:
    result = cmbuild(*RUN, "--json")
    layers, memory = result.document["layers"], result.document["memory"]
    assert sum(layer["weights"] for layer in layers) == memory["flash"]["weights"]
    assert sum(layer["macs"] for layer in layers) == result.document["macs"]
    per_op = result.document["cycles"]["per_op"]
    assert [layer["cycles"] for layer in layers] == [op["cycles"] for op in per_op]
    result = cmbuild(*RUN, "--layers")
    assert "  layer " in result.stdout and "  MAC/instr\n" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.long
def test_a_browser_shows_it(cmbuild: Commands) -> None:
    document = cmbuild(*RUN, "--html", "page.html", "--json").document
    page = cmbuild.folder / "page.html"
    light, dark, printed = (cmbuild.folder / name for name in ("light.png", "dark.png", "a.pdf"))
    shown = browse(page, "--dump-dom")
    assert_same_numbers(Page(shown).numbers, document)
    assert Page(shown).embedded["model"] == "network"
    browse(page, f"--screenshot={light}", "--blink-settings=preferredColorScheme=1")
    browse(page, f"--screenshot={dark}", "--blink-settings=preferredColorScheme=0")
    assert brightness(light) > 200 and brightness(dark) < 80
    browse(page, f"--print-to-pdf={printed}", "--blink-settings=preferredColorScheme=0")
    assert printed.read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize("verb", ["bench", "compare"])
def test_benchmarks_and_comparisons_write_one(cmbuild: Commands, verb: str) -> None:
    words = {
        "bench": ("--models", NETWORK, "--boards", "mps2-an505,mps2-an386"),
        "compare": (NETWORK, IMAGE, "--board", "mps2-an505"),
    }[verb]
    result = cmbuild(verb, *words, "--html", "page.html", "--json")
    assert result.exit_code == 0, result.stderr
    parsed = Page((cmbuild.folder / "page.html").read_text())
    assert parsed.open == []
    assert_same_numbers(parsed.numbers, result.document)
    assert parsed.numbers
    again = cmbuild(verb, *words, "--html", cmbuild.folder)
    assert again.exit_code == 2 and "is a folder" in again.stderr


PAGES = ("run", "bench", "compare", "plot")


def write_page(kind: str, cmbuild: Commands) -> Path:
    """A page with many rows, in the folder of the commands."""
    page = cmbuild.folder / "page.html"
    boards = "mps2-an505,mps2-an386,mps2-an500,microbit,corstone300,nucleo-h7a3zi-q"
    models = f"{NETWORK},{IMAGE}"
    words = {
        "run": RUN,
        "bench": ("bench", "--models", models, "--boards", boards),
        "compare": ("compare", NETWORK, IMAGE, "--board", "mps2-an505"),
    }
    if kind == "plot":
        points = [
            Point(1000 * 1.2**n, 1 - 1 / (n + 2), f"net_{n}x5s_4x3", f"group {n % 3}")
            for n in range(60)
        ]
        page.write_text(plot_page(points, "Search", "cycles of one inference", "accuracy"))
    else:
        assert cmbuild(*words[kind], "--html", "page.html").exit_code == 0
    return page


@pytest.mark.long
@pytest.mark.parametrize("kind", PAGES)
@pytest.mark.parametrize("width", [400, 800, 1400])
def test_a_page_is_readable_in_its_window(cmbuild: Commands, kind: str, width: int) -> None:
    """It is no wider than the window, tables that are wider scroll by themselves, and what charts
    say is not small.
    """
    page = write_page(kind, cmbuild)
    script = """<script>
        const heights = [...document.querySelectorAll("svg.chart text")]
            .map(text => text.getBoundingClientRect().height)
        document.title = [document.documentElement.scrollWidth, innerWidth,
            Math.round(Math.min(99, ...heights))].join("/")"""
    page.write_text(page.read_text().replace("</body>", f"{script}</script></body>"))
    # A window of Chromium has at least 500 columns; an inner frame has any number.
    frame = cmbuild.folder / "frame.html"
    frame.write_text(
        f'<iframe src="page.html" width="{width}" height="900" style="border: 0"></iframe><script>'
        "onload = () => document.title = frames[0].document.title</script>"
    )
    shown = browse(frame, "--dump-dom", "--allow-file-access-from-files")
    (whole, inner, text) = map(int, re.findall(r"<title>(\d+)/(\d+)/(\d+)</title>", shown)[0])
    assert whole <= inner <= width
    assert text >= 10


@pytest.mark.long
@pytest.mark.parametrize("kind", PAGES)
def test_paper_has_all_columns(cmbuild: Commands, kind: str) -> None:
    printed = cmbuild.folder / "page.pdf"
    browse(write_page(kind, cmbuild), f"--print-to-pdf={printed}")
    assert re.search(rb"/MediaBox\s*\[0 0 59[45][.\d]* 84[12]", printed.read_bytes())


def test_a_console_error_is_seen() -> None:
    """What the long test relies on."""
    log = '[12:34:INFO:CONSOLE:3] "Uncaught ReferenceError: x is not defined", source: a.html (3)'
    assert console(log) == [log]
    assert console("[12:34:ERROR:dbus/bus.cc:405] Failed to connect to the bus") == []


def browse(page: Path, *options: str) -> str:
    """Opens a page in Chromium, which must have nothing to say; returns standard output."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    assert program is not None, "Chromium not found: sudo apt-get install chromium"
    words = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    command = [*words, *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert console(done.stderr) == []
    return done.stdout


def console(log: str) -> list[str]:
    """The lines of Chromium's log that are the page's."""
    return [line for line in log.splitlines() if re.search(r":CONSOLE[:(]", line)]


def brightness(picture: Path) -> float:
    from PIL import Image, ImageStat

    with Image.open(picture) as image:
        return float(ImageStat.Stat(image.convert("L")).mean[0])
