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
from cmcompiler.frontend.adaptation import adapted
from cmcompiler.frontend.preparation import prepare
from cmcompiler.usercode import shown

FOLDER = Path(__file__).parents[2] / "data"
GALLERIES = ("bad_modules", "bad_calls", "bad_hosts", "bad_writes")
EXPECTED = {name: tomllib.loads((FOLDER / f"{name}.toml").read_text()) for name in GALLERIES}


def marked(gallery: str) -> dict[str, str]:
    """The lines that messages name, by their marks."""
    path = FOLDER / f"{gallery}.py"
    return {
        match[1]: f"{shown(str(path))}:{number}"
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if (match := re.search(r"# here: (\w+)$", line))
    }


@pytest.fixture(scope="module")
def galleries():
    modules = {}
    for name in GALLERIES:
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        assert spec is not None and spec.loader is not None
        modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(modules[name])
    return modules


@pytest.mark.parametrize("gallery", GALLERIES)
def test_each_module_has_its_message(galleries, gallery: str) -> None:
    functions = vars(galleries[gallery]).items()
    made = {name for name, f in functions if getattr(f, "__module__", "") == gallery}
    assert {name for name in made if not name.startswith("_")} == set(EXPECTED[gallery])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("gallery", "name"), [(gallery, name) for gallery in GALLERIES for name in EXPECTED[gallery]]
)
def test_a_bad_module_is_one_clear_line(galleries, gallery: str, name: str) -> None:
    module, example = getattr(galleries[gallery], name)()
    with pytest.raises(CompilerError) as caught:
        api.compile(module, example)
    expected = EXPECTED[gallery][name]
    assert caught.value.message == expected["error"].format(**marked(gallery))
    assert caught.value.hint == expected.get("hint")


@pytest.mark.parametrize(
    "layer", [nn.Dropout(), nn.RReLU(), nn.GRU(4, 4, 2, dropout=0.5, batch_first=True)]
)
def test_what_draws_in_training_only_is_taken(layer: nn.Module) -> None:
    compiled = api.compile(nn.Sequential(layer).eval(), torch.ones(1, 3, 4))
    assert compiled.contract.inputs


def test_sums_that_torch_would_quantise_are_computed_in_float() -> None:
    class Joined(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stub = torch.ao.quantization.QuantStub()
            self.sum = torch.ao.nn.quantized.FloatFunctional()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.stub(x)
            return self.sum.add(x, x)

    module, _ = adapted(Joined().eval(), [torch.ones(1, 4)])
    assert module(torch.ones(1, 4)).tolist() == [[2.0] * 4]


def test_an_error_of_the_compiler_itself_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError(1)

    monkeypatch.setattr("cmcompiler.frontend.preparation.hold_ranges", broken)
    with pytest.raises(Unsupported, match=r": the compiler cannot take this model: KeyError: 1$"):
        api.compile(nn.Linear(2, 2), torch.ones(1, 2))


def test_an_input_may_have_the_name_of_an_operator_that_is_refused() -> None:
    class Named(nn.Module):
        def forward(self, det, set):
            return det + set

    module, x = Named().eval(), torch.ones(1, 8)
    assert prepare(module, (x, x), [(x, x)]).float_operators == ()
