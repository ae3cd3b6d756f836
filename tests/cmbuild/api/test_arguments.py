"""Every parameter of every function, with values that it does not take: one line, and no other."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness.commands import shared_cache

import cmbuild
from cmbuild.errors import UsageError
from cmbuild.pipeline.evaluation import EvalRequest
from cmbuild.pipeline.options import Option, compose, options
from cmbuild.pipeline.request import BuildRequest, PackageRequest, RunRequest
from cmbuild.pipeline.values import Taken, value_of
from cmbuild.workers.evaluation import DataRequest

PROGRAMS = Path(__file__).parents[2] / "data" / "programs"
MISSING = "missing.py:make"
"""A model that ends every call whose arguments are right."""

Call = Callable[..., object]


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError


def swept(*words: Any, **options: Any) -> object:
    return list(cmbuild.sweep(*words, **options))


FUNCTIONS: dict[str, tuple[Call, type, dict[str, Any]]] = {
    "run": (cmbuild.run, RunRequest, {"model": MISSING, "board": "native"}),
    "build": (cmbuild.build, BuildRequest, {"model": MISSING, "board": "native"}),
    "package": (cmbuild.package, PackageRequest, {"model": MISSING}),
    "compare": (cmbuild.evaluate, EvalRequest, {"model": MISSING}),
    "evaluate": (
        cmbuild.evaluate,
        DataRequest,
        {"model": MISSING, "board": "native", "data": "none.npz"},
    ),
    "fit": (cmbuild.fit, BuildRequest, {"models": MISSING, "boards": "rp2350"}),
    "sweep": (swept, RunRequest, {"models": MISSING, "boards": "native"}),
}

ANY = (b"x", Odd(), object(), {"a": 1}, 1j, math.nan, np.zeros((2, 3)))
TEXT = (*ANY, 5, True, "a\0b", "a\udcff")
WRONG: dict[type, tuple[object, ...]] = {
    bool: (*ANY, 1, 0, "yes", "", None),
    int: (*ANY, "1", 1.5, True, math.inf, [1], -(10**5000)),
    float: (*ANY, "1", True, math.inf, 0, -1, -math.inf, [1.0], 10**400),
    str: (*TEXT, ["a"]),
    Path: (*TEXT, [Path("a")]),
    tuple[str, str]: (*TEXT, "a=int8"),
}
OWN: dict[str, tuple[object, ...]] = {
    "html": WRONG[Path],
    "output_dir": WRONG[Path],
    "progress": (*ANY, 5, "print"),
    "jobs": (*WRONG[int], 0, -1, None, 10**9),
    "workers": (*WRONG[int], 0, -1, 10**9),
    "scheduler": (*WRONG[str], "host:8786", ""),
    "until": (*WRONG[str], "1", "0%", "nan%"),
    "export": WRONG[bool],
    "ram_curve": WRONG[bool],
    "sensitivity": WRONG[bool],
    "model": (*TEXT, None),
    "board": (*TEXT, ""),
    "data": WRONG[Path],
    "models": (*ANY[:3], 5, True, None, [5], [b"x"], ["a\0"]),
    "boards": (*ANY[:3], 5, True, None, [5], [None], ["a\udcff"]),
}
"""Of parameters that are not options of the request."""


def wrong(option: Option) -> Iterator[object]:
    yield from WRONG[option.kind]
    if not option.is_optional and option.kind is not bool:
        yield None
    if option.spelling is not None and option.spelling.choices:
        yield from ("nonsense", "")
    if option.spelling is not None and option.spelling.least is not None:
        yield from (option.spelling.least - 1, -(2**70), 2**70)


def refused(call: Call, given: dict[str, Any], name: str, value: object) -> None:
    with pytest.raises(UsageError) as raised:
        call(**given | {name: value})
    assert len(raised.value.message) < 400, (name, value)
    assert "missing.py" not in raised.value.message, (name, value)


@pytest.fixture(autouse=True)
def own_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CMBUILD_CACHE", str(shared_cache(tmp_path_factory)))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_option_refuses_what_it_does_not_take(function: str) -> None:
    call, request, given = FUNCTIONS[function]
    tried = 0
    for option in options(request):
        if option.field in ("model", "board", "data", "until"):
            continue
        for name in {option.field, option.name}:
            for value in wrong(option):
                # Several inputs are a list.
                if not (option.is_multiple and isinstance(value, (list, tuple))):
                    refused(call, given, name, value)
                    tried += 1
    assert tried > 100
    with pytest.raises(TypeError, match="has no optimise"):
        call(**given, optimise=True)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_other_parameter_does(function: str) -> None:
    call, request, given = FUNCTIONS[function]
    function = "evaluate" if function == "compare" else function
    names = inspect.signature(getattr(cmbuild, function)).parameters.keys() - {"options"}
    assert names <= OWN.keys()
    for name in names - {"until", "scheduler"} if request is EvalRequest else names:
        for value in OWN[name]:
            if isinstance(value, str) and not value and request is EvalRequest:
                continue
            refused(call, given, name, value)


def test_a_pool_counts_its_workers() -> None:
    for value in (*OWN["workers"], None):
        with pytest.raises(UsageError), cmbuild.pool(value):  # type: ignore[arg-type]
            pytest.fail("opened")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_a_command_takes_is_taken(function: str) -> None:
    call, request, given = FUNCTIONS[function]
    known = {option.name: option for option in options(request)}
    taken: dict[str, Any] = {
        "seed": np.int64(3),
        "weights": "w.pt",
        "input": ["a.npy", Path("b.npy")],
        "output_dir": "out",
        "build_dir": "own build",
        "timeout": 5,
        "samples": 7,
        "ram_budget": "256K",
        "executorch_root": None,
    }
    if function == "sweep":
        (result,) = call(**given, **{name: taken[name] for name in taken if name in known})  # type: ignore[misc]
        assert result.exit_code == 2 and "missing.py" in str(result.error)
        return
    error = "none.npz|missing.py"
    with pytest.raises(UsageError, match=error):
        call(**given, **{name: taken[name] for name in taken if name in known})


def test_text_is_a_path_and_one_input_is_several() -> None:
    given = {"model": Path("a.pte"), "board": "native", "build_dir": "b", "timeout": 5}
    one = compose(RunRequest, **given, input="x.npy", output_dir="out")
    other = compose(RunRequest, **given, inputs=[Path("x.npy")], output_dir=Path("out"))
    assert one == other
    assert one.build.source.model == "a.pte" and one.build.build_dir == Path("b")
    assert one.sampling.inputs == (Path("x.npy"),) and one.flashing.timeout == 5.0
    with pytest.raises(UsageError, match="are the same option"):
        compose(RunRequest, **given, inputs="x.npy", input="x.npy")


def test_a_run_with_text_for_every_path(tmp_path: Path) -> None:
    np.save("x.npy", np.zeros((1, 3, 6, 5), np.float32))
    result = cmbuild.run(
        str(PROGRAMS / "network.pte"),
        "native",
        input="x.npy",
        output_dir="out",
        build_dir="own build",
        html="r.html",
    )
    assert result.verification.verified
    assert Path("out/output_0.npy").is_file() and Path("r.html").is_file()
    assert Path("own build/network/native/plan").is_dir()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_progress_function_that_fails_ends_the_call(jobs: int) -> None:
    def failing(outcome: object) -> None:
        raise ValueError("no space\nin my log")

    with pytest.raises(UsageError, match="progress raised ValueError: no space in my log") as one:
        cmbuild.build(PROGRAMS / "network.pte", "native", progress=failing, jobs=jobs)
    assert isinstance(one.value.__cause__, ValueError)
    (result,) = cmbuild.sweep(PROGRAMS / "network.pte", "native", progress=failing)
    assert result.exit_code == 2 and "progress raised ValueError" in str(result.error)
    assert cmbuild.build(PROGRAMS / "network.pte", "native", jobs=jobs).artifacts["image"].is_file()


def test_numbers_of_numpy_are_numbers() -> None:
    values = [value_of(Taken("n", int), np.uint8(3)), value_of(Taken("t", float), np.float32(0.5))]
    assert values == [3, 0.5] and [type(value) for value in values] == [int, float]
    assert value_of(Taken("t", float), 2) == 2.0
