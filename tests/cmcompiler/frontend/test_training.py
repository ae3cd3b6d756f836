from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.pte import operators
from torch import nn

from cmcompiler.api import compile, quantization_aware
from cmcompiler.errors import CompilerError
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.ir.reference import evaluate
from cmcompiler.target import Target


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        *(nn.Conv2d(2, 6, 3, bias=False), nn.BatchNorm2d(6), nn.Hardswish()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(6), nn.Linear(6, 3)),
    ).eval()


def images(count: int) -> list[torch.Tensor]:
    torch.manual_seed(1)
    return [torch.rand(1, 2, 6, 6) for _ in range(count)]


@pytest.fixture(scope="module")
def trained():
    module = quantization_aware(network(), images(1)[0], images(8)).train()
    batch, wanted = torch.cat(images(8)), torch.rand(8, 3)
    optimizer = torch.optim.Adam(module.parameters(), 0.02)
    losses = []
    for _ in range(60):
        losses.append((module(batch) - wanted).square().mean())
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    return module.eval(), losses


def test_weights_of_all_layers_learn(trained):
    module, losses = trained
    assert losses[-1] < losses[0] / 2
    assert all(parameter.grad is not None for parameter in module.parameters())


def test_the_program_computes_what_was_trained(trained):
    module, _ = trained
    (sample,) = images(1)
    quantized = quantize(module, (sample,), [(sample,)])
    with torch.no_grad():
        actual = quantized.program.module(check_guards=False)(sample)
        one_step = 0.01  # biases of the program are rounded, too
        assert torch.allclose(actual, module(sample), atol=one_step)
    assert quantized.float_operators == () == quantized.refinements
    program = operators(lower(quantized, Target.parse("cortex-m55")))
    assert "cmbuild::quantized_layer_norm" in program


@pytest.mark.parametrize(
    "types",
    [
        {"weights": "int4/32"},
        {"weights": "int4", "activations": "int16"},
        {"precision": {"0": "8w16a", "4": "4w8a"}},
    ],
)
def test_weights_of_four_bits_and_mixed_types_are_trained(types):
    torch.manual_seed(2)
    layers = (
        nn.Conv2d(2, 40, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(160, 3),
    )
    module = quantization_aware(nn.Sequential(*layers), images(1)[0], images(8), **types).train()
    batch, wanted = torch.cat(images(8)), torch.rand(8, 3)
    optimizer, losses = torch.optim.Adam(module.parameters(), 0.001), []
    for _ in range(60):
        losses.append((module(batch) - wanted).square().mean())
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < losses[0] / 2
    (sample,) = images(1)
    made = compile(module.eval(), sample, images(8))
    assert made.fidelity.faithful
    (linear,) = (node.op for node in made.graph.nodes if node.op.label == "linear")
    has_groups = types.get("weights") == "int4/32"
    assert bool(np.abs(linear.weights).max() <= 7) is not has_groups
    assert linear.is_int16 is ("activations" in types)
    assert linear.is_int16 or (linear._filters.groups is None) is not has_groups
    (actual,) = evaluate(made.graph, [sample.numpy()]).outputs
    with torch.no_grad():
        assert np.allclose(actual, module(sample).numpy(), atol=0.02)


def test_a_batch_gives_what_its_examples_give(trained):
    module, _ = trained
    with torch.no_grad():
        each = torch.cat([module(sample) for sample in images(4)])
        assert torch.allclose(module(torch.cat(images(4))), each, atol=1e-6)


def test_rounding_costs_something_and_can_be_left_out():
    (sample,) = images(1)
    module = quantization_aware(network(), sample, images(8)).eval()
    with torch.no_grad():
        error = (module(sample) - network()(sample)).abs().max()
        assert 1e-4 < error < 0.1
        module.rounding = False
        assert torch.allclose(module(sample), network()(sample), atol=1e-6)


def test_a_state_dict_holds_weights_and_ranges(trained):
    module, _ = trained
    fresh = quantization_aware(network(), images(1)[0])
    fresh.load_state_dict(module.state_dict())
    (sample,) = images(1)
    with torch.no_grad():
        assert torch.equal(fresh.eval()(sample), module(sample))


def test_recurrent_layers_are_trained(trained):
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.GRU(3, 4, batch_first=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)[0][:, -1]

    module = quantization_aware(Last(), torch.rand(1, 5, 3)).train()
    module(torch.rand(4, 5, 3)).square().sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())


def test_ranges_follow_the_batches():
    module = quantization_aware(network(), images(1)[0], images(8))
    before = module.state_dict()["graph.activation_post_process_0.max_val"]
    large = 10 * torch.cat(images(8))
    with torch.no_grad():
        module.eval()(large)
        assert module.state_dict()["graph.activation_post_process_0.max_val"] == before
        module.train()(large)
        assert module.state_dict()["graph.activation_post_process_0.max_val"] > before


def test_what_cannot_be_trained_is_said_in_one_line(trained):
    module, _ = trained
    with pytest.raises(CompilerError, match="float32 1×2×6×6, the example is float32 1×2×7×7"):
        compile(module, torch.rand(1, 2, 7, 7))
    with pytest.raises(CompilerError, match="for 8w8a, not for \\* 8w16a"):
        compile(module, images(1)[0], activations="int16")
    with pytest.raises(CompilerError, match="without portable=True"):
        quantize(module, (images(1)[0],), [(images(1)[0],)], True)

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(1)
            return x + self.count

    with pytest.raises(CompilerError, match="changes its buffers"):
        quantization_aware(Counting(), torch.rand(1, 4))
