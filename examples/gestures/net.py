"""Gestures from an accelerometer: three axes a step, and an LSTM that remembers earlier steps."""

from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F

GESTURES = ("rest", "shake", "tilt")
STEPS, UNITS = 16, 16


class Gestures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(3, UNITS)
        self.gestures = nn.Linear(UNITS, len(GESTURES))
        self.register_buffer("h", torch.zeros(1, UNITS))
        self.register_buffer("c", torch.zeros(1, UNITS))

    def forward(self, step):  # [1, 3]
        h, c = self.cell(step, (self.h, self.c))
        self.h.copy_(h)
        self.c.copy_(c)
        return self.gestures(h)

    def whole(self, moves):  # [n, steps, 3]: of all steps, for training
        h = c = moves.new_zeros(len(moves), UNITS)
        scores = []
        for step in moves.unbind(1):
            h, c = self.cell(step, (h, c))
            scores.append(self.gestures(h))
        return torch.stack(scores, 1)


def moves(number: int, generator: torch.Generator):
    """Sequences of three gestures, each of some steps, with a label for each step."""
    kinds = torch.randint(0, len(GESTURES), (number, 3), generator=generator)
    labels = kinds.repeat_interleave(STEPS, 1)
    time = torch.arange(labels.shape[1])
    axes = torch.zeros(*labels.shape, 3)
    axes[..., 0] = torch.sin(time * 1.6) * (labels == 1)
    axes[..., 2] = 1.0 - 0.7 * (labels == 2)
    return axes + 0.08 * torch.randn(axes.shape, generator=generator), labels


def make():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    module = Gestures()
    optimizer = torch.optim.Adam(module.parameters(), 0.03)
    for _ in range(80):
        axes, labels = moves(24, generator)
        optimizer.zero_grad()
        F.cross_entropy(module.whole(axes).flatten(0, 1), labels.flatten()).backward()
        optimizer.step()
    axes, labels = moves(2, generator)
    return SimpleNamespace(
        module=module.eval(),
        example_inputs=axes[0, :1],
        calibration=list(moves(4, generator)[0].flatten(0, 1).split(1)),
        samples=list(axes.flatten(0, 1).split(1)),
        labels=labels.flatten().tolist(),
    )
