from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from harness.results import MV2

from cmbuild.benchmark.upstream import measured, measurements
from cmbuild.cycles.results import FlashCycles
from cmbuild.report.bench import BenchCell, BenchReport
from cmbuild.report.bench_files import COLUMNS, to_csv, to_markdown
from cmbuild.results import Instructions, Verification

GOOD = BenchCell("mv2", "corstone300", "cortex-m55", "mve", "gcc", True, MV2, None)
LOWER = replace(GOOD, isa="scalar", best=False)
BEFORE = replace(
    GOOD,
    board="microbit",
    target="cortex-m0plus",
    isa="scalar",
    result=None,
    failure="the arena needs 1,509,744 bytes in ram of microbit, 1,000,000 bytes over",
)
WRONG = replace(
    GOOD,
    model="own",
    result=replace(MV2, verification=Verification("exact", 2, 1, 17)),
    failure="1 of 2 samples differ | first at op 3",
)
UNCOUNTED = replace(
    GOOD,
    model="own",
    board="native",
    best=False,
    result=replace(MV2, instructions=Instructions(None, "not counted"), cycles=None),
)
CELLS = (GOOD, LOWER, BEFORE, WRONG, UNCOUNTED)

SCREEN = """\
  board       isa    verified     instr upstream ratio  cycles    flash      RAM
  mv2, 300.8 M MACs
  corstone300 mve    exact      141.2 M  166.5 M 1.18× 86.80 M  3.52 MB  1.46 MB
  corstone300 scalar exact      141.2 M        –     – 86.80 M  3.52 MB  1.46 MB
  microbit    scalar ✗ no             –        –     –       –        –        –
      the arena needs 1,509,744 bytes in ram of microbit, 1,000,000 bytes over
  own, 300.8 M MACs
  corstone300 mve    ✗ no       141.2 M        –     – 86.80 M  3.52 MB  1.46 MB
      1 of 2 samples differ | first at op 3
  native      mve    exact            –        –     –       –  3.52 MB  1.46 MB

  instr     instructions of one inference, never cycles: simulated count
  cycles    of one inference: model of the Cortex-M55, zero wait states, not
            validated
  upstream  instructions of ExecuTorch cff6f4d (2026-08-22) with CMSIS-NN
            dbf45db; ratio: by cmbuild"""


def test_every_cell_is_a_row_in_80_columns() -> None:
    shown = BenchReport(CELLS).screen().plain
    assert shown == SCREEN
    assert max(map(len, shown.splitlines())) <= 80


def test_cycles_without_some_instructions_say_so() -> None:
    assert MV2.cycles is not None
    incomplete = replace(MV2, cycles=replace(MV2.cycles, unknown=("frob r0",)))
    shown = BenchReport((GOOD, replace(LOWER, result=incomplete))).screen().plain
    assert "not validated, without frob r0" in " ".join(shown.split())


@pytest.mark.parametrize("columns", [40, 50, 60, 70, 80, 82, 100, 200])
def test_the_table_follows_the_width(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    others = (
        (replace(GOOD, board="nucleo-h743zi"), ("board", "instr", "flash", "RAM")),
        (replace(GOOD, toolchain="clang"), ("board", "instr", "by", "gain")),
    )
    for other, kept in others:
        shown = BenchReport((GOOD, other)).screen().plain
        header, *lines = shown.splitlines()
        assert max(map(len, (header, *lines))) <= columns
        assert set(kept) <= set(header.split())
        assert columns > 60 or "cycles" not in header.split()
        assert columns < 80 or {"cycles", "RAM"} <= set(header.split())
        assert columns < 82 or any(line.split()[:1] == [other.board] for line in lines)


def test_csv_has_all_figures_and_leaves_out_what_is_not_known() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(CELLS))))
    assert list(rows[0]) == list(COLUMNS)
    first, _, missing, wrong, uncounted = rows
    assert first == {
        "model": "mv2",
        "board": "corstone300",
        "target": "cortex-m55",
        "isa": "mve",
        "toolchain": "gcc",
        "executor": "static",
        "weights": "int8",
        "launcher": "qemu",
        "verified": "True",
        "rule": "exact",
        "failure": "",
        "macs": "300774272",
        "instructions": "141234567",
        "provenance": "simulated count",
        "caveat": "",
        "mac_per_instruction": "2.13",
        "cycles": "86801234",
        "cycles_error_percent": "",
        "cycles_with_flash": "",
        "milliseconds": "2712.5",
        "upstream_instructions": "166483062",
        "ratio": "1.179",
        "flash_code": "28570",
        "flash_weights": "3659104",
        "flash_total": "3687674",
        "ram_arena": "1509744",
        "ram_static": "612",
        "ram_stack": "1944",
        "ram_total": "1526740",
        "upstream_code": "114680",
        "upstream_ram": "1595932",
    }
    assert (missing["verified"], missing["macs"], missing["ram_total"]) == ("False", "", "")
    assert missing["failure"] == BEFORE.failure
    assert (wrong["verified"], wrong["instructions"]) == ("False", "141234567")
    assert (uncounted["verified"], uncounted["instructions"]) == ("True", "")
    assert uncounted["cycles"] == uncounted["milliseconds"] == ""


def test_markdown_is_a_table_that_says_where_its_figures_come_from() -> None:
    title, _, told, _, *lines = to_markdown(CELLS, "cmbuild bench --models mv2").splitlines()
    assert title.startswith("# ")
    assert told == "`cmbuild bench --models mv2` makes this table."
    assert lines[2] == (
        "| mv2 | corstone300 | mve | gcc | exact | 141,234,567 | 166,483,062 | 1.18× | 2.13 "
        "| 86,801,234 | 3,687,674 | 1,526,740 |"
    )
    assert r"no: 1 of 2 samples differ \| first at op 3" in lines[5]
    columns = {line.replace(r"\|", "").count("|") for line in lines[:7]}
    assert columns == {13}
    notes = " ".join(lines[8:])
    assert max(map(len, lines[8:])) <= 100
    assert "never cycles: simulated count." in notes
    assert "model of the Cortex-M55, zero wait states, not validated." in notes
    assert measurements().about in notes


def test_the_document_has_null_for_what_is_not_known() -> None:
    cells = BenchReport(CELLS).document(()).cells
    assert cells[0].upstream is not None
    assert cells[0].upstream.instructions == 166_483_062
    assert [cell.ratio for cell in cells[1:]] == [None] * 4
    assert (cells[2].memory, cells[2].verified) == (None, False)


def test_upstream_is_compared_at_the_instruction_set_it_was_measured_with() -> None:
    assert set(measured()) >= {("mv2", "cortex-m55"), ("resnet8", "cortex-m0plus")}
    assert LOWER.upstream is None
    assert replace(GOOD, model="mv2-of-my-own").upstream is None


def test_toolchains_are_compared_with_the_first() -> None:
    fewer = replace(MV2, instructions=replace(MV2.instructions, total=100_000_000))
    cells = [GOOD, replace(GOOD, toolchain="clang", best=False, result=fewer)]
    header, _, first, second, *legend = BenchReport(cells).screen().plain.splitlines()
    assert "gain" in header and "ratio" not in header  # that is upstream's by ours, everywhere
    assert first.split()[3:7] == ["141.2", "M", "gcc", "1.00×"]
    assert second.split()[3:7] == ["100.0", "M", "clang", "1.41×"]
    assert any("instructions with gcc, by this one's" in line for line in legend)
    assert not any("upstream" in line for line in legend)


def test_executors_are_compared_with_the_first() -> None:
    more = replace(MV2, instructions=replace(MV2.instructions, total=166_483_062))
    cells = [GOOD, replace(GOOD, executor="executorch", best=False, result=more)]
    header, _, first, second, *legend = BenchReport(cells).screen().plain.splitlines()
    assert "gain" in header and "ratio" not in header
    assert first.split()[3:7] == ["141.2", "M", "static", "1.00×"]
    assert second.split()[3:7] == ["166.5", "M", "upstream", "0.85×"]
    assert any("instructions with static, by this one's" in line for line in legend)


def test_types_of_weights_are_compared_by_cycles() -> None:
    assert MV2.cycles is not None
    faster = replace(MV2, cycles=replace(MV2.cycles, total=43_400_617))
    cells = [GOOD, replace(GOOD, weights="int16", result=faster)]
    _, _, first, second, *legend = BenchReport(cells).screen().plain.splitlines()
    assert first.split()[5:7] == ["int8", "1.00×"]
    assert second.split()[5:7] == ["int16", "2.00×"]
    assert any("cycles with int8, by this one's" in line for line in legend)
    assert "| mve, int16 weights |" in to_markdown(cells, "")


def test_a_stand_in_is_told_with_every_number() -> None:
    caveat = "M85 image on an M55 model"
    cell = replace(GOOD, board="corstone320", target="cortex-m85", caveat=caveat)
    assert f"note corstone320: {caveat}" in " ".join(BenchReport([cell]).screen().plain.split())
    assert f"| mv2 | corstone320 ({caveat}) | mve |" in to_markdown([cell], "")
    assert next(csv.DictReader(io.StringIO(to_csv([cell]))))["caveat"] == caveat
    assert BenchReport([cell]).document(()).cells[0].caveat == caveat


def test_cycles_with_flash_are_told_where_they_are_known() -> None:
    flash = FlashCycles(109_000_000, 120_000_000, 5, 904.2, 3)
    cell = replace(GOOD, result=replace(MV2, cycles=replace(MV2.cycles, with_flash=flash)))
    report = BenchReport((cell, BEFORE))
    assert "with flash: mv2 on corstone300, gcc: 109.0 M" in report.screen().plain
    document = report.document(())
    assert [each.cycles_with_flash for each in document.cells] == [109_000_000, None]
    assert "with flash" not in BenchReport((GOOD,)).screen().plain
