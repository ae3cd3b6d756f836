from __future__ import annotations

import pytest
import torch
from torch import nn

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.weights import assign, randomize


def network() -> nn.Module:
    layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.5)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))


def test_a_state_dict_is_loaded(tmp_path):
    given, taken = network(), network()
    torch.save(given.state_dict(), tmp_path / "plain.pth")
    torch.save({"state_dict": given.state_dict(), "epoch": 3}, tmp_path / "nested.pth")
    for file in ("plain.pth", "nested.pth"):
        assign(taken, tmp_path / file)
        for name, value in given.state_dict().items():
            assert torch.equal(value, taken.state_dict()[name])
        taken = network()


def test_what_does_not_fit_is_named(tmp_path):
    state = network().state_dict()
    state["0.extra"] = state.pop("0.bias")
    state["6.weight"] = torch.zeros(10, 8)
    torch.save(state, tmp_path / "w.pth")
    with pytest.raises(InvalidRequest) as caught:
        assign(network(), tmp_path / "w.pth")
    assert caught.value.message == (
        f"{tmp_path / 'w.pth'} does not fit the model: 1 missing (0.bias); "
        "1 unexpected (0.extra); 1 mismatched (6.weight has shape (10, 8), not (4, 8))"
    )


def test_a_module_around_the_saved_one_is_recognised(tmp_path):
    state = {f"module.{name}": value for name, value in network().state_dict().items()}
    torch.save(state, tmp_path / "w.pth")
    with pytest.raises(InvalidRequest, match=r"missing \(0\.weight, 0\.bias, ") as caught:
        assign(network(), tmp_path / "w.pth")
    assert caught.value.hint == (
        "every key begins with module.: save the state dict of the module inside"
    )


class Executed:
    """Unpickling it as code would create a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_an_unreadable_file_is_one_clear_line_and_no_code_runs(tmp_path):
    torch.save({"a": Executed(tmp_path / "made")}, tmp_path / "code.pth")
    torch.save([1, 2], tmp_path / "list.pth")
    torch.save({"epoch": 3}, tmp_path / "numbers.pth")
    torch.save(network().state_dict(), tmp_path / "short.pth")
    whole = (tmp_path / "short.pth").read_bytes()
    (tmp_path / "short.pth").write_bytes(whole[:-100])
    (tmp_path / "text.pth").write_text("no weights")
    for name in ("code", "list", "numbers", "short", "text", "missing"):
        file = tmp_path / f"{name}.pth"
        with pytest.raises(InvalidRequest) as caught:
            assign(network(), file)
        assert caught.value.message.startswith(str(file))
        assert "\n" not in caught.value.message
    assert not (tmp_path / "made").exists()


def test_random_weights_leave_activations_in_range():
    torch.manual_seed(0)
    deep = nn.Sequential(
        *(nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU()) for _ in range(50)),
        nn.Linear(64, 4),
    )
    batch = torch.randn(256, 64)
    randomize(deep, batch)
    assert not any(part.training for part in deep.modules())
    with torch.no_grad():
        hidden, answers = deep[:-1](batch), deep(batch)
    assert 0.1 < hidden.std() < 2
    # No output wins on every input.
    assert answers.mean(0).abs().max() < 1e-5
    assert len(answers.argmax(1).unique()) == 4
