"""What forward() asks of Python; the gallery of bad modules has what is refused."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.adaptation import adapted
from cmcompiler.frontend.forward_calls import CallWatch

X = torch.linspace(-1, 1, 8).reshape(1, 8)


class _Net(nn.Module):
    def __init__(self, compute: Callable[[_Net, Tensor], Tensor]) -> None:
        super().__init__()
        self.compute, self.calls, self.seconds = compute, 0, 0.0
        self.register_buffer("kept", torch.zeros(1, 8))

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(self, x)


def _timed(net: _Net, x: Tensor) -> Tensor:
    start = time.perf_counter()
    x = x.tanh()
    net.seconds += time.perf_counter() - start
    net.calls += 1
    return x


def _augmented(net: _Net, x: Tensor) -> Tensor:
    return x.flip(1) if random.random() < 0.5 and net.training else x


def _averaged(net: _Net, x: Tensor) -> Tensor:
    net.kept.mul_(0.9).add_(x)
    return net.kept.clone()


def _counted(net: _Net, x: Tensor) -> Tensor:
    net.calls += 1
    net.kept.copy_(x)
    return net.kept * 2


@pytest.mark.parametrize("compute", [_timed, _augmented, _averaged, _counted])
def test_what_decides_no_result_is_taken(compute: Callable[[_Net, Tensor], Tensor]) -> None:
    net = _Net(compute).eval()
    adapted(net, [X])
    assert net.calls == 0
    assert not net.kept.any()


class _Remembers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last, self.feature = torch.zeros(1, 8), torch.zeros(1)

    def forward(self, x: Tensor) -> Tensor:
        self.feature = x
        self.last = 0.5 * self.last + x
        return self.last


def test_a_tensor_that_lasts_is_a_buffer() -> None:
    net = nn.Sequential(nn.Tanh(), _Remembers()).eval()
    module, notes = adapted(net, [X])
    assert notes == ("kept from run to run as a buffer: self.1.last",)
    assert dict(module.named_buffers()).keys() == {"1.last"}
    assert not net[1].last.any()


class _Keeps(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.count, self.seen = count, list[Tensor]()

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(x)
        return sum(self.seen[-self.count :]) / len(self.seen[-self.count :])


def test_a_list_that_lasts_is_refused() -> None:
    # The mean of the same inputs is the same, however many there are.
    with pytest.raises(Unsupported, match=r"forward\(\) changes self\.seen"):
        adapted(_Keeps(2).eval(), [X])
    module, _ = adapted(_Keeps(1).eval(), [X])
    assert isinstance(module, _Keeps)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: random.uniform(0, 1), "random.uniform()"),
        (lambda: 2 * random.random(), "random.random()"),
        (lambda: time.monotonic() + 1, "time.monotonic()"),
        (lambda: time.strftime("%Y"), ""),
    ],
)
def test_chance_is_named(call: Callable[[], object], name: str) -> None:
    with CallWatch() as watch:
        call()
    assert watch.chance[1] == name
    assert name == "" or "test_forward_calls.py:" in watch.chance[0]
