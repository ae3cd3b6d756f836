"""Small modules that cannot be programs, each with one clear line."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import tomllib
import torch
from torch import nn

from cmcompiler import api
from cmcompiler.errors import CompilerError, Unsupported
from cmcompiler.usercode import shown

FOLDER = Path(__file__).parents[2] / "data"
MODULES = FOLDER / "bad_modules.py"
EXPECTED = tomllib.loads((FOLDER / "bad_modules.toml").read_text())
MARKED = {
    match[1]: f"{shown(str(MODULES))}:{number}"
    for number, line in enumerate(MODULES.read_text().splitlines(), start=1)
    if (match := re.search(r"# here: (\w+)$", line))
}


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("bad_modules", MODULES)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_module_has_its_message(gallery) -> None:
    made = {n for n, f in vars(gallery).items() if getattr(f, "__module__", "") == "bad_modules"}
    assert {name for name in made if not name.startswith("_")} == set(EXPECTED)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EXPECTED)
def test_a_bad_module_is_one_clear_line(gallery, name: str) -> None:
    module, example = getattr(gallery, name)()
    with pytest.raises(CompilerError) as caught:
        api.compile(module, example)
    assert caught.value.message == EXPECTED[name]["error"].format(**MARKED)
    assert caught.value.hint == EXPECTED[name].get("hint")


@pytest.mark.parametrize(
    "layer", [nn.Dropout(), nn.RReLU(), nn.GRU(4, 4, 2, dropout=0.5, batch_first=True)]
)
def test_what_draws_in_training_only_is_taken(layer: nn.Module) -> None:
    compiled = api.compile(nn.Sequential(layer).eval(), torch.ones(1, 3, 4))
    assert compiled.contract.inputs


def test_an_error_of_the_compiler_itself_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError(1)

    monkeypatch.setattr("cmcompiler.frontend.preparation.hold_ranges", broken)
    with pytest.raises(Unsupported, match=r": the compiler cannot take this model: KeyError: 1$"):
        api.compile(nn.Linear(2, 2), torch.ones(1, 2))
