"""Numbers that are stored in quantised tensors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from executorch.exir.dialects._ops import ops as exir_ops
from torch import Tensor, nn
from torch.fx import Graph, GraphModule

from cmcompiler import api
from cmcompiler.errors import Unsupported
from cmcompiler.frontend.passes.stored_numbers import CheckNumbers
from cmcompiler.frontend.rewrites import assignments
from cmcompiler.frontend.sensitivity import snr

aten = torch.ops.aten

LEAST_SNR = 35.0

MASK = torch.tensor([True, False, True, True, False, True])


def _written(write: Callable[[Tensor], object]) -> Callable[[Tensor], Tensor]:
    def form(y: Tensor) -> Tensor:
        y = y.clone()
        write(y)
        return y

    return form


def _border(y: Tensor) -> None:
    y[..., 0, :] = 0
    y[..., -1, :] = 0
    y[..., 0], y[..., -1] = 5, 5


FORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "zero": _written(lambda y: y[:, 0].zero_()),
    "seven": _written(lambda y: y[:, 0].fill_(7)),
    "a step": _written(lambda y: y[..., ::2].fill_(-1.5)),
    "a border": _written(_border),
    "some elements": _written(lambda y: y[..., torch.tensor([1, 4])].fill_(0)),
    "a computed number": _written(lambda y: y[:, 0].fill_(y.mean())),
    "by mask": _written(lambda y: y.masked_fill_(MASK, 6.0)),
    "beside": lambda y: torch.cat([y, torch.full_like(y, -3.0)], -1),
    "beside zeros": lambda y: torch.cat([y.relu() + 2, torch.zeros_like(y)], -1),
    "by index": lambda y: y.index_put((torch.tensor([0]), torch.tensor([1])), torch.tensor(5.0)),
    "by computed index": lambda y: y.scatter(-1, (y < 9).long()[..., :1], 4.0),
    "filled by index": lambda y: y.index_fill(1, torch.tensor([1, 3]), torch.tensor(3.0)),
    "chosen": lambda y: torch.where(MASK, y, 6.0),
    "chosen of two": lambda y: torch.where(y > 9, 3.0, -7.0),
    "padded": lambda y: F.pad(y, (1, 2), value=5.0),
    "bounds": lambda y: y.flip(1).clamp(0.1, 0.4),
    "bounds of the larger": lambda y: torch.maximum(y, (y**2 + y.flip(1) ** 2).sqrt()).clamp(0.2),
    "bounds of a range": lambda y: F.hardtanh(torch.cat([y, -y], 1)),
    "threshold": lambda y: F.threshold(y.flip(1), 9.0, -7.0),
    "larger": lambda y: torch.maximum(y, torch.tensor(0.25)),
    "a triangle": lambda y: (y + 5).tril(),
}


class Forms(nn.Module):
    """Each form of the results of a layer of its own."""

    def __init__(self, forms: dict[str, Callable[[Tensor], Tensor]]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.forms = list(forms.values())
        self.layers = nn.ModuleList(nn.Linear(8, 6) for _ in self.forms)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        pairs = zip(self.forms, self.layers, strict=True)
        return tuple(form(layer(x)) for form, layer in pairs)


def _noise(
    forms: dict[str, Callable[[Tensor], Tensor]], activations: str = "int8"
) -> dict[str, float]:
    """The SNR of each form's integers, in dB."""
    module = Forms(forms)
    samples = [(torch.randn(1, 5, 8),) for _ in range(8)]
    compiled = api.compile(module, samples[0], samples, activations=activations)
    given = [(sample.numpy(),) for (sample,) in samples]
    computed = zip(*api.reference(compiled, given), strict=True)
    with torch.no_grad():
        exact = zip(*(module(*sample) for sample in samples), strict=True)
    return {
        name: snr(list(real), [torch.from_numpy(x.copy()) for x in made])
        for name, real, made in zip(forms, exact, computed, strict=True)
    }


@pytest.mark.parametrize("activations", ["int8", pytest.param("int16", marks=pytest.mark.long)])
def test_numbers_are_what_the_module_writes(activations: str) -> None:
    low = {name: snr for name, snr in _noise(FORMS, activations).items() if snr < LEAST_SNR}
    assert not low


def test_what_the_backend_fills_int8_tensors_with_is_quantised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = {aten.fill.Scalar, aten.fill.Tensor, aten.zero.default}
    rules = {key: how for key, how in assignments._RULES.items() if key not in kept}
    monkeypatch.setattr(assignments, "_RULES", rules)
    # The number has no part in the range, so it must be within that of the layer.
    forms = {"zero": FORMS["zero"], "a step": _written(lambda y: y[..., ::2].fill_(0.3))}
    assert min(_noise(forms).values()) >= LEAST_SNR


def test_numbers_that_no_pass_has_quantised_are_refused() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    made = graph.call_function(exir_ops.edge.aten.leaky_relu.default, (x, 0.1))
    graph.output(made)
    module = GraphModule({}, graph)
    assert not CheckNumbers().call(module).modified
    made.meta |= {"input_qparams": {0: "of int8"}, "val": torch.zeros(1, dtype=torch.int8)}
    with pytest.raises(Unsupported, match=r"negative_slope=0\.1 of aten::leaky_relu on integers"):
        CheckNumbers().call(module)


def test_an_activation_after_movements_is_a_clamp_between_integers():
    class Rectified(nn.Module):
        def forward(self, x):
            return torch.relu(torch.tanh(x)[:, :4].repeat(1, 2)) + 1

    inputs = [torch.randn(1, 8) for _ in range(8)]
    compiled = api.compile(Rectified(), inputs[0], inputs)
    assert compiled.fidelity.layers
    assert all(layer.faithful for layer in compiled.fidelity.layers)
