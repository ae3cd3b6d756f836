"""`cmbuild explain`: where the cycles of an op go."""

from __future__ import annotations

from dataclasses import replace

import pytest
from harness.commands import NETWORK, Commands

RUN = (NETWORK, "--board", "mps2-an505")


def test_the_most_expensive_op_is_explained(cmbuild: Commands) -> None:
    run = cmbuild("run", *RUN, "--json").document
    document = cmbuild("explain", *RUN, "--json", "--blocks", "999").document
    costs = [op["cycles"] for op in run["cycles"]["per_op"]]
    assert document["op"] == 1 + costs.index(max(costs))
    assert (document["cycles"], document["ops"]) == (max(costs), len(costs))
    assert document["layer"] == run["layers"][document["op"] - 1]
    blocks = document["blocks"]
    shares = [each["share"] for each in blocks]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(1, abs=0.02)
    assert all(each["place"] for each in blocks)
    first = blocks[0]["block"]["instructions"]
    assert all(each["issue"] >= 0 and each["stall"] >= 0 and each["text"] for each in first)
    reasons = [one["reason"] for each in blocks for one in each["block"]["instructions"]]
    assert any(reason.startswith("waits for r") for reason in reasons)


def test_the_screen_shows_one_op(cmbuild: Commands) -> None:
    for columns, header in (
        (80, "  address    instruction                    issue stall  why"),
        (40, "  address    instruction    issue stall"),
    ):
        terminal = replace(cmbuild, environment={"COLUMNS": str(columns)})
        result = terminal("explain", *RUN, "--op", "2", "--blocks", "1")
        assert (result.exit_code, result.stderr) == (0, "")
        assert "  op        2 of " in result.stdout
        assert header in result.stdout.splitlines()
        assert max(map(len, result.stdout.splitlines())) <= columns


def test_what_cannot_be_explained_says_why(cmbuild: Commands) -> None:
    result = cmbuild("explain", *RUN, "--op", "99")
    assert result.exit_code == 2 and "has ops 1 to " in result.stderr
    result = cmbuild("explain", NETWORK, "--board", "native")
    assert result.exit_code == 1
    assert "error: cycles of network on native not counted: " in result.stderr
