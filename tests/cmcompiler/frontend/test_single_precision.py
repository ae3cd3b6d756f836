from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.frontend.adaptation import adapted
from cmcompiler.frontend.source import find_source
from cmcompiler.frontend.user_model import UserModel
from cmcompiler.frontend.weights import Origin, Weights

TYPES = (torch.float16, torch.bfloat16, torch.float64)


class _Net(nn.Module):
    """Holds a tensor that is neither parameter nor buffer."""

    def __init__(self, compute: Callable[[Tensor], Tensor] = torch.relu) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.compute = compute
        self.tables = [torch.rand(8)]

    def forward(self, image: Tensor) -> Tensor:
        return self.compute(self.fc(image) * self.tables[0].to(self.fc.weight))


class _HalfInside(nn.Module):
    """Takes float32, computes and holds float16."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8).half()

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x.half()).to(torch.float32)


def _net(compute: Callable[[Tensor], Tensor] = torch.relu) -> _Net:
    torch.manual_seed(0)
    return _Net(compute).eval()


def _samples() -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(1, 8, generator=generator) for _ in range(4)]


def _autocast(x: Tensor) -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.matmul(x, torch.eye(8))


def _assert_same(compiled: api.Compiled, other: api.Compiled) -> None:
    assert compiled.vectors is not None
    inputs = list(compiled.vectors)
    for ours, theirs in zip(
        api.reference(compiled, inputs), api.reference(other, inputs), strict=True
    ):
        for output, expected in zip(ours, theirs, strict=True):
            assert output.dtype == np.float32
            np.testing.assert_array_equal(output, expected)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_modules_and_inputs_of_other_types_are_those_of_float32(dtype: torch.dtype) -> None:
    net, samples = _net().to(dtype), [sample.to(dtype) for sample in _samples()]
    name = str(dtype).removeprefix("torch.")
    compiled = api.compile(net, samples[0], samples)
    assert compiled.notes == (f"computed as float32: {name} parameters and {name} inputs",)
    assert net.fc.weight.dtype == dtype, "the user's own module has changed"
    assert compiled.contract.inputs[0].name == "image"
    _assert_same(
        compiled, api.compile(net.float(), samples[0].float(), [x.float() for x in samples])
    )


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: torch.relu(x.double()).to(torch.float16).type(torch.bfloat16),
        lambda x: torch.relu(x + torch.zeros(8, dtype=torch.float64)).float(),
        lambda x: torch.relu(x + torch.from_numpy(np.zeros(8))),
        lambda x: torch.relu(x.to(torch.float16).to("cpu", torch.float64)),
        lambda x: torch.relu(torch.float_power(x, 1)).float(),
    ],
)
def test_casts_in_forward_change_nothing(compute: Callable[[Tensor], Tensor]) -> None:
    module, (note,) = adapted(_net(compute), _samples()[:1])
    assert note.startswith("computed as float32: ") and note.endswith(" casts")
    for sample in _samples():
        output = module(sample)
        assert output.dtype == torch.float32
        torch.testing.assert_close(output, _net()(sample), rtol=0, atol=0)


def test_autocast_changes_nothing() -> None:
    samples = _samples()
    compiled = api.compile(_net(_autocast), samples[0], samples)
    assert compiled.notes == ("computed as float32: bfloat16 casts",)
    plain = api.compile(_net(lambda x: torch.matmul(x, torch.eye(8))), samples[0], samples)
    _assert_same(compiled, plain)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.matmul(torch.eye(2), torch.eye(2)).dtype == torch.bfloat16


def test_half_inside_of_a_module_of_float32() -> None:
    compiled = api.compile(_HalfInside().eval(), _samples()[0], _samples())
    assert compiled.notes == ("computed as float32: float16 parameters",)


def test_a_module_of_float32_is_left_as_it_is() -> None:
    net = _net()
    assert adapted(net, _samples()[:1]) == (net, ())


def test_an_archive_of_half(tmp_path: Path) -> None:
    path, example = tmp_path / "net.pt2", _samples()[0].half()
    torch.export.save(torch.export.export(_HalfInside().eval(), (example.float(),)), path)
    model = find_source(str(path)).load(0)
    assert model.notes == ("computed as float32: float16 parameters",)
    assert model.module(*model.example_inputs).dtype == torch.float32


def test_all_data_is_float32() -> None:
    class Made:
        module = nn.Linear(8, 8).double().eval()
        example_inputs = torch.zeros(1, 8, dtype=torch.float64)
        calibration = (torch.zeros(1, 8, dtype=torch.float64),)
        samples = (torch.zeros(1, 8, dtype=torch.float16),)

    model = UserModel.of(Made(), "made").model(Weights(Origin.GIVEN, ""), 0)
    assert model.example_inputs[0].dtype == model.calibration[0][0].dtype == torch.float32
    assert model.samples.inputs[0].dtype == np.float32
    assert len(model.notes) == 1


def test_the_default_type_of_a_file_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(
        "import torch\ntorch.set_default_dtype(torch.float64)\n"
        "def model(): return torch.nn.Linear(4, 2).eval(), torch.rand(1, 4)\n"
    )
    model = find_source(str(path)).load(0)
    assert torch.get_default_dtype() == torch.float32
    assert model.module(*model.example_inputs).dtype == torch.float32
