"""docs/results.md and docs/toolchains.md are what the commands in them make: a verified row for
each model that fits."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from harness.figures import FIGURES

from cmbuild.benchmark.upstream import measured
from cmbuild.toolchain.toolchains import CROSS
from cmcompiler import zoo

DOCS = Path(__file__).parents[2] / "docs"
CORES = {"corstone300": "m55", "mps2-an505": "m33", "mps2-an386": "m4", "microbit": "m0plus"}
TOO_SMALL = {(name, board) for name in FIGURES for board in FIGURES[name].too_large_for}
"""What has to be refused: an arena larger than all memory."""


def text(name: str) -> str:
    return (DOCS / name).read_text()


def rows(name: str) -> list[dict[str, str]]:
    header, _, *lines = re.findall(r"^\| (.+) \|$", text(name), re.MULTILINE)
    return [dict(zip(header.split(" | "), line.split(" | "), strict=True)) for line in lines]


@pytest.mark.parametrize("name", ["results.md", "toolchains.md"])
def test_every_model_is_verified_on_every_board_of_the_command(name: str) -> None:
    """A new model needs rows in results.md; toolchains.md may wait for its next measurement."""
    command = re.search(
        rf"^`cmbuild bench --boards (\S+)(?: --toolchain (\S+))? --markdown docs/{name}`",
        text(name),
        re.MULTILINE,
    )
    assert command is not None
    boards = [place.partition(":")[0] for place in command[1].split(",")]
    toolchains = command[2].split(",") if command[2] else [""]
    shown = {row["model"] for row in rows(name)}
    models = zoo.names() if name == "results.md" else shown
    assert shown <= set(zoo.names())
    wanted = sorted(product(models, boards, toolchains))
    actual = [
        (row["model"], row["board"].partition(" ")[0], row["toolchain"] if command[2] else "")
        for row in rows(name)
    ]
    assert sorted(actual) == wanted
    for (model, board, _), row in zip(actual, rows(name), strict=True):
        if (model, board) in TOO_SMALL:
            assert re.fullmatch(r"no: the arena needs .* bytes over", row["verified"])
        else:
            assert row["verified"] == "exact"


def test_toolchains_are_compared_on_every_kind_of_core() -> None:
    """A new toolchain may wait for the next measurement."""
    shown = {(row["isa"], row["toolchain"]) for row in rows("toolchains.md")}
    compared = {toolchain for _, toolchain in shown}
    assert len(compared) > 1
    assert compared <= set(CROSS)
    assert shown == set(product(["scalar", "dsp", "mve"], compared))


def test_upstreams_figures_stand_beside_those_that_compare() -> None:
    known = {key: actual.instructions for key, actual in measured().items()}
    beside = {
        (row["model"], f"cortex-{CORES[row['board']]}"): int(row["upstream"].replace(",", ""))
        for row in rows("results.md")
        if row["upstream"]
    }
    assert beside == known


def test_nothing_takes_more_instructions_than_upstream() -> None:
    ratios = [float(row["ratio"].removesuffix("×")) for row in rows("results.md") if row["ratio"]]
    assert min(ratios) > 1
