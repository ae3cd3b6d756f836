"""A short run of the fuzzer, and the programs that it has found before."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import pytest
from harness.images import kernel_harness

from fuzz.campaign import CHUNK, Campaign, mutant, seeds
from fuzz.trial import try_program

FOUND = sorted((Path(__file__).parent / "found").glob("*.pte"))


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder = tmp_path_factory.mktemp("fuzz")
    return Campaign(kernel_harness("native", "scalar", folder), folder, seed=0)


def test_mutants_are_refused_or_right(campaign: Campaign) -> None:
    *_, report = islice(campaign.rounds(), 2)
    assert not report.findings, "\n".join(
        f"{x.signature}\n{x.details}" for x in report.findings.values()
    )
    assert report.mutants == 2 * 2 * CHUNK
    assert report.kinds["on native"] > CHUNK // 4


def test_mutants_are_the_same_from_the_same_seed() -> None:
    corpus = seeds()
    first, second = ([mutant(corpus, random.Random(i)) for i in range(20)] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_what_was_found_is_refused_or_right(campaign: Campaign, file: Path) -> None:
    data = file.read_bytes()
    for seed in range(4):
        outcome = try_program(data, seed)
        assert outcome.kind != "crash", outcome.details
        assert not list(campaign.run([(data, seed, example) for example in outcome.examples]))
