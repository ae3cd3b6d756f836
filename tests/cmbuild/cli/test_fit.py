"""What is said of a program's size without a build is what a build gives."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands

from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import BuildRequest
from cmbuild.process import Processes
from cmbuild.sizing import sections
from cmbuild.sizing.estimate import Basis
from cmbuild.sizing.fits import Fits

BOARDS = ("corstone300", "microbit", "rp2350")
INPUTS = PROGRAMS / "two_inputs.pte"
IMAGE = PROGRAMS / "image.pte"

TOLERANCE = 0.06  # of the code: start-up and board.c are estimated


def fits(
    cmbuild: Commands, *words: str | Path, exit_code: int = 0
) -> dict[tuple[str, str], dict[str, Any]]:
    result = cmbuild("fit", *words, "--json")
    assert result.exit_code == exit_code, result.stderr
    return {(cell["model"], cell["board"]): cell for cell in result.document["fits"]}


@pytest.mark.parametrize("board", BOARDS)
def test_it_is_what_a_build_gives(board: str, cmbuild: Commands) -> None:
    for program in (NETWORK, INPUTS):
        built = cmbuild("build", program, "--board", board, "--json").document["memory"]
        cell = fits(cmbuild, program, "--board", board)[str(program), board]
        need = cell["need"]
        assert (cell["fits"], need["basis"]) == (True, "library")
        assert need["weights"] == built["flash"]["weights"]
        assert need["arena"] == built["ram"]["arena"]
        assert need["code"] == pytest.approx(built["flash"]["code"], rel=TOLERANCE)
        assert need["static"] == pytest.approx(built["ram"]["static"], abs=64)
        assert (cell["flash"], cell["ram"]) == (
            built["flash"]["capacity"],
            built["ram"]["capacity"],
        )


def test_microkernels_that_run_from_ram_are_counted_there(cmbuild: Commands) -> None:
    place = cmbuild.folder / "boards" / "hot"
    shutil.copytree(Path(__file__).parents[3] / "boards" / "rp2350", place)
    descriptor = place / "board.toml"
    descriptor.write_text(descriptor.read_text().replace('# hot = "sram"', 'hot = "sram" #'))
    built = cmbuild("build", NETWORK, "--board", "hot", "--json").document["memory"]
    need = fits(cmbuild, NETWORK, "--board", "hot")[str(NETWORK), "hot"]["need"]
    assert need["static"] == pytest.approx(built["ram"]["static"], abs=64)


def test_each_point_of_a_curve_can_be_built(cmbuild: Commands) -> None:
    page = cmbuild.folder / "curve.html"
    words = (IMAGE, "--board", "mps2-an505", "--io", "int8")
    cell = fits(cmbuild, *words, "--ram-curve", "--html", page)[str(IMAGE), "mps2-an505"]
    points = cell["curve"]["points"]
    assert points[0]["cycles"]["total"] <= cell["cycles"]["total"]
    assert any(point["arena"] == cell["curve"]["usual"] for point in points)
    point = points[-1]
    built = cmbuild("build", *words, "--ram-budget", str(point["ram_budget"]), "--json").document
    assert built["memory"]["ram"]["arena"] == point["arena"] <= point["ram_budget"]
    shown = cmbuild("fit", *words, "--ram-curve").stdout
    text = page.read_text()
    for each in points:
        assert f"{each['ram_budget']}  " in shown
        assert f'<td class="n">{each["ram_budget"]}</td><td class="n">{each["arena"]:,}<' in text
    assert f"--ram-budget {points[0]['ram_budget']}: " in text


def test_what_wide_weights_cost_and_buy(cmbuild: Commands) -> None:
    fitting = fits(cmbuild, IMAGE, "--weights-as", "int16")
    places = {board for _, board in fitting}
    assert {"mps2-an386", "rp2350"} <= places
    assert not places & {"microbit", "corstone300"}
    cell = fitting[str(IMAGE), "mps2-an386"]
    wide = cell["wide"]
    assert 0 < wide["cycles"] < cell["cycles"]["total"]
    shown = cmbuild("fit", IMAGE, "--board", "mps2-an386", "--weights-as", "int16").stdout
    told = "less flash and save" if wide["flash"] < 0 else "more flash and save"
    assert told in shown
    (plain,) = fits(cmbuild, IMAGE, "--board", "mps2-an386").values()
    assert plain["wide"] is None
    grown = {part: cell["need"][part] - plain["need"][part] for part in ("weights", "code")}
    assert grown["weights"] > 0 and wide["flash"] == sum(grown.values())


def test_types_and_weights_are_of_an_export(cmbuild: Commands) -> None:
    """A program has them; a model that was not exported so is not taken for another."""
    refused = cmbuild("fit", IMAGE, "--activations", "int16")
    assert refused.exit_code == 2
    assert "--activations needs a model to export" in refused.stderr
    missing = cmbuild("fit", "mlp", "--board", "rp2350", "--weights", "int4", "--seed", "77")
    assert missing.exit_code == 3


def small_board(folder: Path) -> Path:
    """A board like mps2-an385 with too little memory for anything."""
    place = folder / "boards" / "small"
    place.mkdir(parents=True)
    source = Path(__file__).parents[3] / "boards" / "mps2-an385"
    for file in source.iterdir():
        text = file.read_text()
        place.joinpath(file.name).write_text(text.replace('"4M"', '"4K"').replace("16K", "2K"))
    return place


def test_what_does_not_fit_says_by_how_much(cmbuild: Commands) -> None:
    small_board(cmbuild.folder)
    cell = fits(cmbuild, NETWORK, "--board", "small", exit_code=1)[str(NETWORK), "small"]
    need = cell["need"]
    assert cell["fits"] is False
    assert need["over"]["ssram1"] == need["weights"] + need["code"] - 4096
    result = cmbuild("fit", NETWORK, "--board", "small", "--board", "microbit")
    assert "over in ssram1" in result.stdout
    assert (result.exit_code, result.stderr.splitlines()[0]) == (
        1,
        "error: network does not fit small",
    )
    anywhere = fits(cmbuild, NETWORK)
    assert anywhere[str(NETWORK), "small"]["fits"] is False
    assert anywhere[str(NETWORK), "microbit"]["fits"] is True


def test_what_does_not_fit_names_the_peak_and_what_was_tried(cmbuild: Commands) -> None:
    place = cmbuild.folder / "boards" / "small"
    shutil.copytree(Path(__file__).parents[3] / "boards" / "corstone300", place)
    arenas = [
        fits(cmbuild, IMAGE, "--board", "small", "--io", io)[str(IMAGE), "small"]["need"]["arena"]
        for io in ("program", "int8")
    ]
    assert arenas[0] > arenas[1]
    descriptor = place / "board.toml"
    text = descriptor.read_text().replace('size = "4M"', f"size = {arenas[1]}")
    descriptor.write_text(text)
    result = cmbuild("build", IMAGE, "--board", "small")
    error, hint = result.stderr.splitlines()
    assert result.exit_code == 1
    assert f"the arena needs {arenas[0]:,} bytes in sram of small" in error
    assert "; the peak is step " in error
    assert hint.startswith("  try: --io int8") and hint.endswith(", with which it fits")
    assert cmbuild("build", IMAGE, "--board", "small", "--io", "int8").exit_code == 0
    cell = fits(cmbuild, IMAGE, "--board", "small", exit_code=1)[str(IMAGE), "small"]
    assert {"options": "--io int8", "over": 0} in cell["tried"]
    hinted = cmbuild("fit", IMAGE, "--board", "small").stderr.splitlines()[1]
    assert hinted == hint


def test_what_does_not_help_is_not_offered(cmbuild: Commands) -> None:
    small_board(cmbuild.folder)
    _, hint = cmbuild("fit", NETWORK, "--board", "small").stderr.splitlines()
    assert hint.startswith("  try: a smaller model or input, or a larger board (tried")
    assert "--io int8: still " in hint
    _, hint = cmbuild("build", NETWORK, "--board", "small").stderr.splitlines()
    assert hint == "  try: `cmbuild fit MODEL --board small` tries what makes it smaller"


def test_figures_without_a_library_are_marked(cmbuild: Commands, tmp_path: Path) -> None:
    bare = replace(cmbuild, cache=tmp_path / "cache")
    cell = fits(bare, NETWORK, "--board", "corstone300")[str(NETWORK), "corstone300"]
    assert cell["need"]["basis"] == "table"
    assert cell["fits"] is True
    assert "≈ code as a table of kernels" in bare("fit", NETWORK, "--board", "corstone300").stdout
    # RAM does not depend on the library.
    assert cmbuild("build", NETWORK, "--board", "corstone300").exit_code == 0
    built = fits(cmbuild, NETWORK, "--board", "corstone300")[str(NETWORK), "corstone300"]
    assert built["need"]["basis"] == "library"
    before, after = (
        sum(each["need"][part] for part in ("arena", "static", "stack")) for each in (cell, built)
    )
    assert abs(before - after) <= 0.05 * after
    # If the table is out of date: python benchmarks/code_sizes.py
    flash = cmbuild("build", NETWORK, "--board", "corstone300", "--json").document["memory"][
        "flash"
    ]
    assert cell["need"]["code"] == pytest.approx(flash["code"], rel=0.05)
    assert cell["need"]["weights"] == flash["weights"]


def test_kernels_that_the_table_does_not_have_are_bounded(
    cmbuild: Commands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sections.CodeTable, "has", lambda self, core, kernels: False)
    monkeypatch.setenv("CMBUILD_CACHE", str(tmp_path / "cache"))
    pipeline = Pipeline(WorkContext(Processes(), tmp_path / "logs"))
    request = compose(BuildRequest, model=str(NETWORK), board="rp2350", build_dir=tmp_path / "b")
    need = Fits(pipeline).cell(request).need
    assert need is not None and need.code.basis is Basis.ASSUMED


def test_what_a_board_copies_to_ram_is_marked_there(cmbuild: Commands, tmp_path: Path) -> None:
    place = cmbuild.folder / "boards" / "copying"
    shutil.copytree(Path(__file__).parents[3] / "boards" / "rp2350", place)
    descriptor = place / "board.toml"
    text = descriptor.read_text().replace("\n[sections]\n", '\n[sections]\nhot = "sram"\n')
    descriptor.write_text(text)
    bare = replace(cmbuild, cache=tmp_path / "cache")
    cells = [fits(bare, NETWORK, "--board", board) for board in ("rp2350", "copying")]
    plain, copying = (next(iter(each.values()))["need"] for each in cells)
    assert copying["static"] > plain["static"] + 500
    line = next(
        x for x in bare("fit", NETWORK, "--board", "copying").stdout.splitlines() if "≈" in x
    )
    assert line.count("≈") == 2


def test_a_model_without_a_program_says_how_to_get_it(cmbuild: Commands, tmp_path: Path) -> None:
    bare = replace(cmbuild, cache=tmp_path / "cache")
    result = bare("fit", "mlp", "--board", "corstone300")
    assert (result.exit_code, result.stderr.splitlines()) == (
        3,
        [
            "error: no exported program for mlp in the cache",
            "  try: --export exports missing models, half a minute each",
        ],
    )
    result = bare("fit", "mlp", NETWORK, "--board", "corstone300")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (
        3,
        "error: no exported program for mlp in the cache",
    )
    assert "not exported yet: mlp" in result.stdout
    assert "cmbuild fit mlp --export" in result.stdout


def test_all_boards_but_this_computer_by_default(cmbuild: Commands) -> None:
    fitting = fits(cmbuild, NETWORK)
    assert {board for _, board in fitting} >= {"corstone300", "corstone320", "rp2350", "microbit"}
    assert "native" not in {board for _, board in fitting}


def test_what_makes_no_sense(cmbuild: Commands) -> None:
    for words in (("nothing.pte",), ("mlpp",), (NETWORK, "--board", "corstone3000")):
        result = cmbuild("fit", *words)
        assert (result.exit_code, result.stdout) == (2, ""), result
