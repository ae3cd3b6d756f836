from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.errors import UsageError
from cmbuild.pipeline.options import compose, options
from cmbuild.pipeline.request import RunRequest
from cmbuild.tasks.variables import NAMES, flag, subject
from cmbuild.tasks.variables import requests as requests_for


def requests(variables: dict[str, str]) -> list[RunRequest]:
    return requests_for(variables, subject(variables))


def test_variables_are_the_options_of_run() -> None:
    (request,) = requests(
        {
            "model": "mv2",
            "board": "corstone300",
            "isa": "scalar",
            "seed": "3",
            "weights": "w.pt",
            "calibration": "c",
            "method": "m",
            "io": "int8",
            "build_dir": "b",
            "samples": "2",
            "input": "x.npy,y.npy",
            "output_dir": "o",
            "launcher": "qemu",
            "timeout": "1.5",
        }
    )
    assert request == compose(
        RunRequest,
        model="mv2",
        board="corstone300",
        isa="scalar",
        seed=3,
        weights=Path("w.pt"),
        calibration=Path("c"),
        method="m",
        io="int8",
        build_dir=Path("b"),
        samples=2,
        inputs=(Path("x.npy"), Path("y.npy")),
        output_dir=Path("o"),
        launcher="qemu",
        timeout=1.5,
    )
    named = [each.field for each in options(RunRequest) if each.spelling is not None]
    known = {"model", *named} - {"inputs"} | {"input"}
    assert set(NAMES) == known | {"json", "verbose"}


def test_lists_are_every_model_on_every_board_once() -> None:
    asked = requests({"model": "a.pte,b.pte,a.pte", "board": "x,y"})
    assert [(each.build.source.model, each.build.place.board) for each in asked] == [
        ("a.pte", "x"),
        ("a.pte", "y"),
        ("b.pte", "x"),
        ("b.pte", "y"),
    ]


def test_all_samples_is_a_number_of_samples_too() -> None:
    (request,) = requests({"samples": "all", "model": "mv2", "board": "native"})
    assert request.sampling.samples == "all"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("seed", "1.5"),
        ("samples", "0"),
        ("samples", "many"),
        ("timeout", "0"),
        ("timeout", "nan"),
        ("io", "int4"),
    ],
)
def test_value_that_makes_no_sense(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}={text} is not valid$"):
        requests({"model": "mv2", "board": "x", name: text})


@pytest.mark.parametrize(("text", "on"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_flags(text: str, on: bool) -> None:
    assert flag({"json": text}, "json") is on
    assert not flag({}, "json")
