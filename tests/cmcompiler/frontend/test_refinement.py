from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
import torch
from harness.pte import operators
from torch import nn
from torch.utils._pytree import tree_leaves
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from cmcompiler.frontend import backend
from cmcompiler.frontend.layouts import channels_last
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.refinement import (
    MINIMAL_FURTHER_GAIN,
    MINIMAL_GAIN,
    Refiner,
)
from cmcompiler.frontend.sensitivity import snr
from cmcompiler.target import Target


def images(count: int) -> list[tuple[torch.Tensor, ...]]:
    return [(torch.rand(1, 3, 12, 12),) for _ in range(count)]


def network() -> nn.Module:
    """Averages over an image: errors of single elements cancel, those of a channel's mean stay.

    An outlier among each channel's weights makes the others coarse.
    """
    torch.manual_seed(0)
    module = nn.Sequential(
        *(nn.Conv2d(3, 16, 3, bias=False), nn.ReLU(), nn.Conv2d(16, 16, 3, bias=False), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5, bias=False)),
    )
    with torch.no_grad():
        module[2].weight[:, :, 0, 0] = 4.0
    return module.eval()


def fidelity(module, quantized, samples):
    graph = quantized.program.module(check_guards=False)
    with torch.no_grad():
        exact = [x for sample in samples for x in tree_leaves(module(*sample))]
        actual = [x for s in samples for x in tree_leaves(graph(*map(channels_last, s)))]
    return snr(exact, actual)


@pytest.fixture(scope="module")
def calibration():
    torch.manual_seed(1)
    return images(24)


@pytest.fixture(scope="module")
def plain(calibration):
    return quantize(network(), calibration[0], calibration, refinement=False)


@pytest.fixture(scope="module")
def refined(calibration):
    return quantize(network(), calibration[0], calibration)


def test_biases_are_corrected_where_that_helps_on_other_inputs_too(plain, refined):
    module = network()
    assert plain.refinements == ()
    steps = {step.name: step for step in refined.refinements}
    step = steps["bias correction"]
    assert step.snr_db >= step.before_db + MINIMAL_FURTHER_GAIN
    others = images(24)
    assert fidelity(module, refined, others) > fidelity(module, plain, others) + 1
    assert refined.float_operators == ()


def test_steps_gain_what_other_bits_are_worth_and_later_ones_what_a_further_change_is(refined):
    first, *later = refined.refinements
    assert first.snr_db >= first.before_db + MINIMAL_GAIN
    for before, step in itertools.pairwise((first, *later)):
        assert step.before_db == before.snr_db
        assert step.snr_db >= step.before_db + MINIMAL_FURTHER_GAIN


def test_without_refinement_programs_are_the_quantizers_own(calibration, plain):
    module, inputs = network(), tuple(map(channels_last, calibration[0]))
    graph = torch.export.export(module, inputs).module(check_guards=False)
    prepared = prepare_pt2e(graph, backend.Quantizer())
    with torch.no_grad():
        for sample in calibration:
            prepared(*map(channels_last, sample))
        own = convert_pt2e(prepared)(*inputs)
    assert torch.equal(plain.program.module(check_guards=False)(*inputs), own)


def test_layers_without_a_bias_stay_so_unless_it_is_corrected(plain, refined):
    constants = (
        [name for name in each.program.state_dict if "frozen" in name] for each in (plain, refined)
    )
    assert [len(names) for names in constants] == [3, 6]
    target = Target.parse("cortex-m55")
    assert operators(lower(plain, target)) == operators(lower(refined, target))


def test_ranges_leave_out_rare_outliers_that_do_not_show():
    torch.manual_seed(0)
    module, samples = nn.Tanh().eval(), [(torch.randn(1, 4096),) for _ in range(16)]
    samples[2][0][0, 0] = 12.0
    plain = quantize(module, samples[0], samples, refinement=False)
    refined = quantize(module, samples[0], samples)
    assert [step.name for step in refined.refinements] == ["ranges of 99.980% of elements"]
    assert fidelity(module, refined, samples) > fidelity(module, plain, samples) + 1


@pytest.mark.parametrize(
    ("unseen", "holds"), [(29.0, False), (30.4, False), (30.5, True), (33.0, True)]
)
def test_a_gain_must_hold_on_samples_that_were_not_tried(unseen, holds):
    refiner = object.__new__(Refiner)
    refiner._unseen, refiner._unseen_snr = [()], 30.0
    refiner._meter = SimpleNamespace(unseen=lambda: unseen)
    assert refiner._holds(MINIMAL_GAIN) is holds
    assert refiner._unseen_snr == (unseen if holds else 30.0)


def test_one_sample_corrects_nothing(calibration):
    quantized = quantize(network(), calibration[0], calibration[:1])
    assert "bias correction" not in [step.name for step in quantized.refinements]


def test_the_same_calibration_gives_the_same_program(calibration, refined):
    again = quantize(network(), calibration[0], calibration)
    assert again.refinements == refined.refinements
    first, second = (each.program.state_dict for each in (again, refined))
    assert all(torch.equal(first[name], second[name]) for name in first | second)


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.register_buffer("kept", torch.zeros(1, 8))

    def forward(self, x):
        self.kept = torch.tanh(self.layer(x) + self.kept)
        return self.kept * 2


def test_states_are_those_of_the_float_module():
    torch.manual_seed(0)
    module, calibration = Memory().eval(), [(torch.randn(1, 8),) for _ in range(16)]
    quantized = quantize(module, calibration[0], calibration)
    assert fidelity(Memory.eval(module), quantized, calibration) > 20


def test_outputs_without_power_are_left_alone():
    module = nn.Linear(4, 2)
    nn.init.zeros_(module.weight)
    nn.init.zeros_(module.bias)
    calibration = [(torch.rand(1, 4),) for _ in range(8)]
    assert quantize(module.eval(), calibration[0], calibration).refinements == ()


def test_weights_of_four_bits_beside_int16_make_up_for_each_other(calibration):
    layers = nn.AvgPool2d(3), nn.Flatten(), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 16)
    module = nn.Sequential(*layers).eval()
    given = module, calibration[0], calibration
    kept = [
        fidelity(module, quantize(*given, refinement=each, precision=[("*", "4w16a")]), calibration)
        for each in (False, True)
    ]
    assert kept[1] > kept[0] + 6
