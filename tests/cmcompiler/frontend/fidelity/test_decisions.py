"""Decisions that rounding changes, and functions that jump."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.frontend.fidelity.decisions import Jumps, jumps
from cmcompiler.frontend.preparation import prepare
from cmcompiler.frontend.refinement import Refiner


class Deciding(nn.Module):
    """Comparisons of tensors, signs, and a function without any jump."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 32)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.layer(x)
        return torch.where(y > y.flip(-1), y, -2 * y.flip(-1)), torch.sign(y), nn.functional.gelu(y)


SAMPLES = [(torch.randn(4, 8, generator=torch.Generator().manual_seed(seed)),) for seed in range(8)]


def test_decisions_that_rounding_changes_are_counted_by_operator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Refiner, "refine", lambda *_: ())  # leaves signs in integers
    torch.manual_seed(0)
    network = Deciding()
    compiled = api.compile(network, SAMPLES[0], SAMPLES)
    assert compiled.fidelity.faithful is True
    shares = {each.node.partition("_")[0]: each.share for each in compiled.fidelity.flipped}
    assert set(shares) == {"gt", "function"}
    assert all(0 < share < 0.05 for share in shares.values())
    assert compiled.vectors is not None
    made = list(api.reference(compiled, compiled.vectors))
    with torch.no_grad():
        signs = [network(*sample)[1] for sample in SAMPLES]
    others = sum(
        int((exact != torch.from_numpy(ours).round()).sum())
        for exact, (_, ours, _) in zip(signs, made, strict=True)
    )
    assert shares["function"] == others / (8 * 4 * 32)


class Placing(nn.Module):
    """The largest of numbers that hardly differ."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.reshape(1, -1)
        places = torch.cat([y, y * 1.001 + 0.001], 1).topk(8)[1]
        return torch.zeros(1, 64).scatter(1, places, 1.0)


def test_places_that_rounding_changes_are_counted() -> None:
    inputs = [(torch.randn(4, 8, generator=torch.Generator().manual_seed(s)),) for s in range(4)]
    flipped = api.compile(Placing(), inputs[0], inputs).fidelity.flipped
    assert [each.node.partition("_")[0] for each in flipped] == ["topk"]


def test_steep_functions_do_not_jump_and_signs_do() -> None:
    class Functions(nn.Module):
        def forward(self, x: Tensor) -> list[Tensor]:
            chosen = torch.where(x > 0, x, 0.1 * x), torch.where(x > 0.5, x, -x)
            return [torch.exp(3 * x), torch.tanh(9 * x), torch.sign(x) + 1, *chosen]

    graph = prepare(Functions(), SAMPLES[0], SAMPLES).graph.graph
    by_result = {
        str(node.args[1]): jumps(node)
        for node in graph.nodes
        if node.target is torch.ops.cmbuild.function.default
    }
    assert len(by_result) >= 4
    jumping = {text for text, places in by_result.items() if places is not None}
    assert jumping == {text for text in by_result if "sign" in text or "0.5" in text}


@pytest.mark.parametrize(
    ("text", "is_sudden"),
    [
        ("log(add.Tensor(x, 1e-06))", False),
        ("log(x)", False),
        ("rsqrt(add.Tensor(x, 1e-12))", False),
        ("reciprocal(x)", False),
        ("sign(x)", True),
        ("floor(mul.Tensor(x, 11))", True),
    ],
)
def test_what_is_steep_has_numbers_between(text: str, is_sudden: bool) -> None:
    below, above = torch.tensor([-0.1, 0.0]), torch.tensor([0.0, 0.1])
    places = Jumps(held=None, function=text, step=0.1, below=below, above=above, least=0.8)  # type: ignore[arg-type]
    assert places.are_sudden() == is_sudden


@pytest.mark.parametrize(
    "module",
    [
        nn.Hardshrink(),
        nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Flatten(0), nn.Threshold(0.3, -4.0)),
    ],
    ids=["input", "moved"],
)
def test_numbers_that_no_layer_makes_are_counted_too(
    module: nn.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Refiner, "refine", lambda *_: ())
    samples = [(torch.linspace(-1, 1, 1000).reshape(-1, 8),)]
    compiled = api.compile(module, samples[0], samples)
    (flipped,) = compiled.fidelity.flipped
    assert 0 < flipped.share < 0.05
