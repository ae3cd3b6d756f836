"""Calls of a package's functions in every order and in every state of a context."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from harness.graph_packages import graph_package, native_program, random_samples
from harness.package_calls import CALLS, STATES, two_inputs_with_state
from harness.packages import SOURCES, run

from cmbuild.packaging.contents import PackagedModel


@dataclass(frozen=True)
class Packages:
    """A package that is fed and one that is not, both scores of classes."""

    models: tuple[PackagedModel, ...]
    folder: Path

    def program(self, source: str) -> Path:
        """A program of SOURCES with both of them."""
        places = [
            f"#define {model.name.upper()}_STATE {model.record.states[0].place.offset}\n"
            for model in self.models
        ]
        main = "".join(places) + (SOURCES / source).read_text()
        return native_program(self.models, main, self.folder)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    folder, graph = tmp_path_factory.mktemp("calls"), two_inputs_with_state()
    samples = random_samples(graph, 2)
    made = (
        graph_package(graph, samples, name, folder, feed)
        for name, feed in (("fed", "rows"), ("whole", "whole"))
    )
    models = (replace(each, interface=replace(each.interface, is_classifier=True)) for each in made)
    return Packages(tuple(models), folder)


def test_every_sequence_of_calls_is_right(both: Packages) -> None:
    assert run(both.program("calls.c"), "6").startswith("0 wrong of ")


def test_every_mistake_has_its_status(both: Packages) -> None:
    """Those of docs/packages.md."""
    listed = [line.split("\t") for line in run(both.program("mistakes.c")).splitlines()]
    results = {(state, int(call)): result for state, call, result in listed}
    table = {
        call: tuple(results[state, number] for state in STATES) for number, call in enumerate(CALLS)
    }
    assert table == CALLS and len(results) == len(CALLS) * len(STATES)
