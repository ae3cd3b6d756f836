from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.errors import Unsupported
from cmcompiler.frontend.adaptation import adapted
from cmcompiler.frontend.outputs import names_of_outputs
from cmcompiler.frontend.source import find_source


class _Boxes(NamedTuple):
    boxes: Tensor
    scores: Tensor


@dataclass
class _Heads:
    near: Tensor
    far: Tensor


@dataclass
class _All:
    heads: list[_Heads]
    boxes: _Boxes


class _Net(nn.Module):
    def __init__(self, compute: Callable[[Tensor], Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fc = nn.Linear(8, 8)
        self.compute = compute

    def forward(self, x: Tensor) -> Any:
        return self.compute(self.fc(x))


class _Shifts(nn.Module):
    """Changes its first input."""

    def __init__(self, change: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.change = change

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        self.change(x)
        return x * 2 + y


def _samples() -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(1, 8, generator=generator) for _ in range(4)]


def _all(x: Tensor) -> _All:
    return _All([_Heads(x, x + 1)], _Boxes(x * 2, torch.relu(x)))


@pytest.mark.parametrize(
    ("compute", "names"),
    [
        (lambda x: _Boxes(x, torch.relu(x)), ("boxes", "scores")),
        (lambda x: _Heads(x, torch.relu(x)), ("near", "far")),
        (_all, ("heads_0_near", "heads_0_far", "boxes_boxes", "boxes_scores")),
        (lambda x: {"a": _Heads(x, x + 1), "b": x * 2}, ("a_near", "a_far", "b")),
    ],
)
def test_outputs_of_classes_are_flattened_in_order(
    compute: Callable[[Tensor], Any], names: tuple[str, ...]
) -> None:
    net, samples = _Net(compute).eval(), _samples()
    compiled = api.compile(net, samples[0], samples)
    assert names_of_outputs(torch.export.export(net, (samples[0],))) == names
    assert len(compiled.contract.outputs) == len(names)
    expected = torch.utils._pytree.tree_leaves(net(samples[0]))
    (outputs,) = api.reference(compiled, [[samples[0].numpy()]])
    for output, right in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(output, right.detach(), atol=0.1)


def _set(x: Tensor) -> None:
    x[:, 2:4] = 0


CHANGES: dict[str, Callable[[Tensor], Any]] = {
    "add": lambda x: x.add_(1),
    "items": _set,
    "view": lambda x: x.view(2, 4)[1].mul_(2),
    "activation": torch.relu_,
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_inputs_are_copies(name: str) -> None:
    net = _Shifts(CHANGES[name]).eval()
    samples = [(x, x + 1) for x in _samples()]
    before = [x.clone() for x, _ in samples]
    expected = [net(x.clone(), y) for x, y in samples]
    compiled = api.compile(net, samples[0], samples)
    for (x, _), unchanged in zip(samples, before, strict=True):
        torch.testing.assert_close(x, unchanged, rtol=0, atol=0)
    assert [port.name for port in compiled.contract.inputs] == ["x", "y"]
    inputs = [[x.numpy() for x in sample] for sample in samples]
    for (output,), right in zip(api.reference(compiled, inputs), expected, strict=True):
        np.testing.assert_allclose(output, right, atol=0.15)


def test_an_archive_that_changes_its_input(tmp_path: Path) -> None:
    x, y = _samples()[:2]
    program = torch.export.export(_Shifts(CHANGES["items"]).eval(), (x.clone(), y))
    torch.export.save(program, tmp_path / "net.pt2")
    model = find_source(str(tmp_path / "net.pt2")).load(0)
    given = tuple(example.clone() for example in model.example_inputs)
    output = model.module(*given)
    torch.testing.assert_close(given, model.example_inputs, rtol=0, atol=0)
    torch.testing.assert_close(output, _Shifts(CHANGES["items"])(*given), rtol=0, atol=0)


def test_a_forward_of_the_instance_is_given_copies() -> None:
    net, own = nn.Identity(), _Shifts(CHANGES["items"])
    net.forward = own.forward  # type: ignore[method-assign]
    x, y = _samples()[:2]
    module, _ = adapted(net, (x, y))
    given = x.clone()
    torch.testing.assert_close(module(given, y), own(x.clone(), y), rtol=0, atol=0)
    torch.testing.assert_close(given, x, rtol=0, atol=0)


def test_a_module_that_needs_nothing_is_left_as_it_is() -> None:
    net = _Net(torch.relu).eval()
    assert adapted(net, _samples()[:1]) == (net, ())


def test_a_module_that_fails_is_refused_with_the_line() -> None:
    net = _Net(lambda x: x + torch.ones(3)).eval()
    with pytest.raises(Unsupported, match=r"test_adaptation.py:\d+: RuntimeError: The size of"):
        adapted(net, _samples()[:1])


def test_a_compiled_module_is_the_one_it_was_made_of() -> None:
    net = _Net(torch.relu).eval()
    assert adapted(torch.compile(net), _samples()[:1]) == (net, ())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outputs", "what"), [("cat", "a str"), ([], "no tensor"), ((torch.ones(1), object), "a type")]
)
def test_outputs_that_a_program_cannot_have(outputs: Any, what: str) -> None:
    with pytest.raises(Unsupported) as caught:
        adapted(_Net(lambda x: outputs).eval(), _samples()[:1])
    assert re.fullmatch(
        rf".*test_adaptation\.py:\d+: forward\(\) returns {what}", caught.value.message
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("module", "example", "message"),
    [
        (nn.LazyLinear(4), torch.ones(1, 8), "the module: weight is not initialised"),
        (
            nn.Linear(8, 4, device="meta"),
            torch.ones(1, 8),
            "the module: weight is on the meta device and has no values",
        ),
        (nn.Identity(), torch.ones(1, dtype=torch.complex64), "an input is complex"),
    ],
)
def test_modules_and_inputs_without_real_numbers(
    module: nn.Module, example: Tensor, message: str
) -> None:
    with pytest.raises(Unsupported) as caught:
        adapted(module.eval(), (example,))
    assert caught.value.message == message
