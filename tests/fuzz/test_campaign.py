"""A short run of the fuzzer, and the programs that it has found before."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from harness.images import kernel_harness
from harness.run_graphs import pooled_graphs
from harness.runtime import Machine

from cmcompiler.importer.suffixes import PROGRAMS
from cmcompiler.isa import Isa
from fuzz import headers, plans
from fuzz.campaign import SAMPLE, Campaign, Report
from fuzz.corpus import Corpus
from fuzz.files import Tally, fuzz_files
from fuzz.trial import try_program

FOUND = sorted(
    path for path in (Path(__file__).parent / "found").iterdir() if path.suffix in PROGRAMS
)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder = tmp_path_factory.mktemp("fuzz")
    harness = kernel_harness("native", "scalar", folder)
    return Campaign({Isa.SCALAR: harness}, folder, seed=0, size=400)


def report_of(campaign: Campaign, slices: int) -> Report:
    total = Report()
    for ended in campaign.slices(range(slices)):
        assert ended.is_complete
        total.add(ended.report)
    return total


def test_mutants_are_refused_or_right(campaign: Campaign) -> None:
    report = report_of(campaign, 2)
    assert not report.findings, "\n".join(
        f"{x.signature}\n{x.details}" for x in report.findings.values()
    )
    assert report.mutants == 800
    assert report.kinds["on native"] > 50


@pytest.mark.long
def test_mutants_are_right_on_simulators(campaign: Campaign) -> None:
    folder = campaign.folder
    simulators = {
        isa: kernel_harness("corstone300", isa.label, folder) for isa in (Isa.DSP, Isa.MVE)
    }
    sampled = replace(campaign, harnesses={**campaign.harnesses, **simulators}, seed=1)
    report = report_of(sampled, 2 * SAMPLE)
    assert not report.findings
    assert report.kinds["on dsp"] > 0
    assert report.kinds["on mve"] > 0


def test_mutants_are_the_same_from_the_same_seed() -> None:
    corpus = Corpus.of_tests()
    first, second = ([corpus.mutant(random.Random(i)) for i in range(20)] for _ in range(2))
    assert first == second


def test_nothing_is_made_of_an_empty_program() -> None:
    corpus = Corpus.of_tests()
    empty = Corpus([])
    empty.learn("is no program", b"")
    empty.learn("is one", corpus.mutant(random.Random(0)))
    assert all(empty.mutant(random.Random(i)) is not None for i in range(50))


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_what_was_found_is_refused_or_right(campaign: Campaign, file: Path) -> None:
    data = file.read_bytes()
    for seed in range(4):
        outcome = try_program(data, seed)
        assert outcome.kind != "crash", outcome.details
        assert not list(campaign.run([(data, seed, example) for example in outcome.examples]))


def test_files_of_users_and_caches_are_refused_or_read() -> None:
    tally = Tally()
    fuzz_files(800, seed=0, tally=tally)
    assert not tally.findings, "\n".join(tally.findings.values())
    assert tally.kinds["configuration read"] > 40 and tally.kinds["configuration refused"] > 200
    assert tally.kinds["entry refused"] > 200 and tally.kinds["entry used"] > 20


def test_headers_of_packages_say_what_their_plans_do() -> None:
    tally = headers.Tally()
    headers.fuzz_headers(80, seed=0, tally=tally)
    assert not tally.findings, "\n".join(tally.findings.values())
    assert tally.kinds["rows"] > 30 and tally.kinds["whole"] > 15 and tally.ports > 100


def test_plans_of_any_memory_are_right(campaign: Campaign) -> None:
    native = Machine("native", campaign.harnesses[Isa.SCALAR], Isa.SCALAR, campaign.folder)
    tally = plans.Tally()
    plans.fuzz_plans(3, seed=10, machines={Isa.SCALAR: native}, tally=tally)
    plans.fuzz_plans(2, 2, {Isa.SCALAR: native}, tally, pooled_graphs())
    assert not tally.findings, "\n".join(tally.findings.values())
    assert tally.kinds["scalar"] > 10 and set(tally.kinds) <= {"scalar", "refused", *plans.KINDS}
    kinds = ("in bands", "in runs of tiles", "in rows of inputs", "with sums in place")
    for kind in (*kinds, "in runs of slices"):
        assert tally.kinds[kind] > 2, kind
