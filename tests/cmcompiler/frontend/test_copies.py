"""Copies of modules that hold what they computed."""

from __future__ import annotations

from threading import Lock

import pytest
import torch
from torch import nn

from cmcompiler.frontend.copies import copied, in_eval_mode
from cmcompiler.frontend.layouts import export_channels_last
from cmcompiler.frontend.quiet import quiet

# People have modules made with them, whatever torch says now.
pytestmark = pytest.mark.filterwarnings("ignore:.*(weight_norm|torch.jit.script):FutureWarning")


class Keeps(nn.Module):
    """Like modules that keep an attention map, after a step of training."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.utils.weight_norm(nn.Conv1d(4, 8, 3))
        self.drop = nn.Dropout(0.1)
        self.history = [{"nothing": None}]

    def forward(self, x):
        self.seen = torch.relu(self.convolution(x))
        self.history[0]["mean"] = self.seen.mean()
        return self.drop(self.seen)


def test_what_a_module_computed_is_copied_as_plain_tensors():
    torch.manual_seed(0)
    module, x = Keeps(), torch.randn(1, 4, 8)
    module(x).sum().backward()
    copy = copied(module)
    assert torch.equal(copy.seen, module.seen)
    assert copy.seen.is_leaf
    assert copy.history[0]["mean"].is_leaf
    assert not module.seen.is_leaf
    assert copy.convolution.weight is not module.convolution.weight
    with torch.no_grad():
        assert torch.equal(copy.eval()(x), module.eval()(x))


def test_such_a_module_is_exported():
    torch.manual_seed(0)
    module, x = Keeps(), torch.randn(1, 4, 8)
    module(x).sum().backward()
    with quiet():
        exported = export_channels_last(in_eval_mode(module), (x,))
    with torch.no_grad():
        wanted = copied(module).eval()(x)
        torch.testing.assert_close(exported.module(check_guards=False)(x), wanted)


def test_what_cannot_be_copied_is_shared():
    module = nn.Linear(2, 2)
    module.held = {"function": torch.jit.script(_doubled), "lock": Lock()}
    copy = copied(module)
    assert copy.held is not module.held
    assert copy.held == module.held
    assert copy.weight is not module.weight


def _doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class Hooked(nn.Module):
    """Keeps the result of a part, as extractors of features do."""

    def __init__(self):
        super().__init__()
        self.part = nn.Linear(4, 3)
        self.features = {}

        def keep(module, inputs, result):
            self.features["part"] = result

        self.part.register_forward_hook(keep)

    def forward(self, x):
        return self.part(x), self.features["part"] * 2


def test_hooks_of_a_copy_know_the_copy():
    module, x = Hooked().eval(), torch.ones(1, 4)
    with torch.no_grad():
        result, kept = copied(module)(x)
    assert torch.equal(kept, result * 2)
    assert module.features == {}
