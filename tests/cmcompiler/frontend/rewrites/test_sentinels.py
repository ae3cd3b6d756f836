"""Sentinels leave what is quantised."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from harness.rewriting import rewritten, targets
from torch import Tensor, nn
from torch.fx import GraphModule

from cmcompiler import api
from cmcompiler.frontend.rewrites.editing import constant_value, is_constant
from cmcompiler.frontend.rewrites.order import rewrite
from cmcompiler.frontend.rewrites.sampled import note_samples
from cmcompiler.frontend.rewrites.sentinels import limit_states, note_values
from cmcompiler.frontend.sensitivity import snr

LOWEST = torch.finfo(torch.float32).min
PADDED = torch.arange(6)[None] > 3
COUNTS = (~PADDED).float()
BIAS = torch.zeros(1, 6).masked_fill(PADDED, -math.inf)
SOFTMAX, ATTENTION = "cmbuild.masked_softmax.default", "cmbuild.masked_attention.default"
CHOICE, CONSTANT = "aten.where.self", "cmbuild.attention.default"


def tensor(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


class Masked(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, *mask: Tensor) -> Tensor:
        return self.function(x, *mask)


def with_values(module: nn.Module, *inputs: Tensor) -> GraphModule:
    """The graph after all rewrites, which know the values of the inputs."""

    def by(graph: GraphModule) -> None:
        note_values(graph, [inputs])
        note_samples(graph, [inputs])
        rewrite(graph)

    return rewritten(module, *inputs, by=by)


Function = Callable[..., Tensor]
LEFT_OUT: dict[str, tuple[Function, Tensor, str]] = {
    "added": (lambda x, m: (x + torch.where(m, -1e9, 0.0)).softmax(-1), PADDED, SOFTMAX),
    "input": (lambda x, m: (x + m).softmax(-1), BIAS, SOFTMAX),
    "lowest": (lambda x, m: (x + m).softmax(-1), BIAS.nan_to_num(neginf=LOWEST), SOFTMAX),
    "counts": (lambda x, m: (x + (1 - m) * -1e4).softmax(-1), COUNTS, SOFTMAX),
    "integers": (lambda x, m: (x + (1 - m) * LOWEST).softmax(-1), COUNTS.long(), SOFTMAX),
    "triangle": (
        lambda x, m: (x + torch.full((6, 6), -1e9).triu(1)).softmax(-1),
        PADDED,
        SOFTMAX,
    ),
    "exponentials": (
        lambda x, m: (x + torch.where(m, -1e9, 0.0)).log_softmax(-1).exp(),
        PADDED,
        SOFTMAX,
    ),
    "attention": (
        lambda x, m: (x @ x.transpose(1, 2) / 3 + (1 - m) * -1e4).softmax(-1) @ x,
        COUNTS,
        ATTENTION,
    ),
    "slopes": (
        lambda x, m: F.scaled_dot_product_attention(x, x, x, m + torch.arange(6.0) * -0.5),
        BIAS,
        ATTENTION,
    ),
    "causal": (
        lambda x, m: (x @ x.transpose(1, 2) + torch.full((6, 6), -1e9).triu(1)).softmax(-1) @ x,
        PADDED,
        CONSTANT,
    ),
    "largest": (lambda x, m: (x + (1 - m) * -1e9).amax(-1), COUNTS, CHOICE),
    "larger": (lambda x, m: torch.maximum(x, (x + (1 - m) * -1e9).flip(0)), COUNTS, CHOICE),
    "sigmoid": (lambda x, m: x.masked_fill(m, -1e9).sigmoid(), PADDED, CHOICE),
    "exponential": (lambda x, m: x.masked_fill(m, -math.inf).exp(), PADDED, CHOICE),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_left_out(name: str) -> None:
    function, mask, operator = LEFT_OUT[name]
    graph = with_values(Masked(function), tensor(2, 6, 6), mask)
    assert operator in targets(graph)
    assert not any("softmax.int" in each or "Scalar" in each for each in targets(graph)[1:-1])
    for node in filter(is_constant, graph.graph.nodes):
        held = constant_value(node)
        assert held.dtype == torch.bool or held[held.isfinite()].abs().max() < 1e3


SPELLINGS: dict[str, tuple[Callable[[Tensor, Tensor, float], Tensor], str]] = {
    "filled": (lambda x, m, n: x.masked_fill(m, n).softmax(-1), SOFTMAX),
    "chosen": (lambda x, m, n: torch.where(m, torch.tensor(n), x).softmax(-1), SOFTMAX),
    "added": (lambda x, m, n: (x + m.float() * n).softmax(-1), SOFTMAX),
    "attention": (
        lambda x, m, n: F.scaled_dot_product_attention(x, x, x, torch.where(m, n, 0.0)),
        ATTENTION,
    ),
    "filled scores": (
        lambda x, m, n: (x @ x.mT / 3).masked_fill(m, n).softmax(-1) @ x,
        ATTENTION,
    ),
}


@pytest.mark.parametrize("number", [-100.0, -1e4, -1e9, LOWEST])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_rows_that_are_masked_throughout(spelling: str, number: float) -> None:
    function, operator = SPELLINGS[spelling]
    mask = PADDED | torch.tensor([True, False])[:, None, None]

    def masked(x: Tensor, m: Tensor) -> Tensor:
        return function(x, m, number)

    assert operator in targets(with_values(Masked(masked), tensor(2, 6, 6), mask))


@pytest.mark.parametrize(
    ("spelling", "factor", "shift", "is_left"),
    [
        ("filled", 1.0, -20.0, True),
        ("filled", 1.0, -100.0, False),
        ("added", 10.0, 0.0, True),
        ("added", 200.0, 0.0, False),
        ("attention", 2.0, 0.0, True),
        ("attention", 13.0, 0.0, False),
    ],
)
def test_numbers_that_scores_reach_are_no_sentinels(
    spelling: str, factor: float, shift: float, is_left: bool
) -> None:
    function, operator = SPELLINGS[spelling]

    def masked(x: Tensor, m: Tensor) -> Tensor:
        return function(x, m, -100.0)

    x = tensor(2, 6, 6) * factor + shift
    operators = targets(with_values(Masked(masked), x, PADDED[:, None]))
    assert (operator in operators) == is_left


def test_a_float_tensor_that_is_given_is_added_to_scores() -> None:
    def attention(x: Tensor, m: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(x, x, x, m)

    mask = torch.where(PADDED, -math.inf, torch.arange(6.0))
    operators = targets(with_values(Masked(attention), tensor(2, 6, 6), mask))
    assert "cmbuild.biased_attention.default" in operators


@pytest.mark.parametrize("number", [-1e9, LOWEST])
def test_margins_of_a_maximum_are_infinite(number: float) -> None:
    def pooled(x: Tensor) -> Tensor:
        return F.max_pool2d(F.pad(x, (0, 1, 0, 1), value=number), 3, 2)

    graph = rewritten(Masked(pooled), tensor(1, 4, 8, 8))
    (pad,) = (n for n in graph.graph.nodes if n.target is torch.ops.aten.constant_pad_nd.default)
    assert pad.args[2] == -math.inf


def test_a_bound_that_nothing_reaches_goes() -> None:
    def bounded(x: Tensor) -> Tensor:
        return torch.maximum(x.tanh(), torch.full((6,), -1e9))

    assert targets(rewritten(Masked(bounded), tensor(2, 6))) == ["aten.tanh.default"]


def test_initial_extremes_are_infinite() -> None:
    def running(x: Tensor, state: Tensor, sums: Tensor) -> Tensor:
        return torch.maximum(x, state) + sums

    inputs = (tensor(2, 6), torch.full((2, 6), -1e9), torch.full((2, 6), -1e9))
    graph = torch.export.export(Masked(running), inputs).module(check_guards=False)
    state, sums = limit_states(graph, inputs[1:])
    assert bool((state == -math.inf).all()) and torch.equal(sums, inputs[2])


def test_results_keep_their_sentinels() -> None:
    def logits(x: Tensor, m: Tensor) -> Tensor:
        return x + torch.where(m, -1e9, 0.0)

    operators = targets(rewritten(Masked(logits), tensor(2, 6), PADDED))
    assert operators[-1] == "aten.where.ScalarOther" and "aten.add.Tensor" not in operators


def test_inputs_of_other_values_are_no_masks() -> None:
    graph = torch.export.export(Masked(lambda x, m: x + m), (tensor(2, 6), COUNTS)).module()
    note_values(graph, [(tensor(2, 6), COUNTS), (tensor(2, 6), COUNTS / 2)])
    assert not any("values" in node.meta for node in graph.graph.nodes)


class Layers(nn.Module):
    """Masks in many spellings, each with an output of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.encoder = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.conv = nn.Conv1d(16, 8, 3, padding=1)

    def forward(self, x: Tensor, padded: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        causal = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        attended, weights = self.attention(x, x, x, key_padding_mask=padded)
        given, _ = self.attention(x, x, x, key_padding_mask=mask, attn_mask=causal)
        encoded = self.encoder(x, src_key_padding_mask=padded)
        y = self.conv(x.transpose(1, 2))
        pooled = F.max_pool1d(F.pad(y, (0, 1), value=LOWEST), 3, 2)
        largest = (y + mask[:, None]).amax(-1)
        mean = ((y + mask[:, None]).softmax(-1) * y).sum(-1)
        return attended, weights, given, encoded, pooled, largest, mean


def test_whole_programs_compute_masks_in_integers() -> None:
    torch.manual_seed(0)
    module = Layers().eval()
    samples = []
    for _ in range(8):
        padded = torch.arange(10)[None] >= torch.randint(3, 11, (1, 1))
        mask = torch.zeros(1, 10).masked_fill(padded, -math.inf)
        samples.append((torch.randn(1, 10, 16), padded, mask))
    compiled = api.compile(module, samples[0], samples)
    assert not any(step.reason and "float" in step.reason for step in compiled.placement)
    inputs = [tuple(x.numpy() for x in sample) for sample in samples]
    results = list(api.reference(compiled, inputs))
    with torch.no_grad():
        exact = [module(*sample) for sample in samples]
    for number in range(len(exact[0])):
        actual = [torch.from_numpy(outputs[number].copy()) for outputs in results]
        assert snr([outputs[number] for outputs in exact], actual) > 30, number
    for outputs, (_, padded, _) in zip(results, samples, strict=True):
        assert not outputs[1][..., padded[0].numpy()].any()
