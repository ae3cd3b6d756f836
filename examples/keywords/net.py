"""Two words in a stream of sound: eight band energies come every 20 ms, and each gives a score.

The network keeps what it computed of the last twelve frames in a buffer, so that a frame costs a
twelfth of what the whole window would. It is an SVDF layer, as keyword spotters have.
"""

from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F

WORDS = ("nothing", "up", "down")
BANDS, FRAMES = 8, 12


class Listener(nn.Module):
    def __init__(self, units: int = 24) -> None:
        super().__init__()
        self.features = nn.Linear(BANDS, units, bias=False)
        self.weight = nn.Parameter(torch.randn(units, FRAMES) / FRAMES**0.5)
        self.bias = nn.Parameter(torch.zeros(units))
        self.words = nn.Linear(units, len(WORDS))
        self.register_buffer("window", torch.zeros(1, units, FRAMES))

    def forward(self, frame):  # [1, bands]
        newest = self.features(frame).unsqueeze(2)
        self.window.copy_(torch.cat([self.window[:, :, 1:], newest], 2))
        return self.words(torch.relu((self.window * self.weight).sum(2) + self.bias))

    def whole(self, clips):  # [n, frames, bands]: the same of a whole window, for training
        window = self.features(clips).transpose(1, 2)
        return self.words(torch.relu((window * self.weight).sum(2) + self.bias))


def clips(number: int, generator: torch.Generator):
    """Sounds whose pitch goes up or down, and noise."""
    words = torch.arange(number) % len(WORDS)
    noise = 0.3 * torch.rand(number, FRAMES, BANDS, generator=generator)
    time = torch.arange(FRAMES) / (FRAMES - 1)
    pitch = torch.where((words == 1)[:, None], time, 1 - time) * (BANDS - 1)
    pitch = pitch + 0.6 * torch.randn(number, 1, generator=generator)
    tone = torch.exp(-((torch.arange(BANDS) - pitch[..., None]) ** 2))
    return noise + tone * (words > 0)[:, None, None], words


def make():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    module = Listener()
    optimizer = torch.optim.Adam(module.parameters(), 0.02)
    for _ in range(120):
        sounds, words = clips(96, generator)
        optimizer.zero_grad()
        F.cross_entropy(module.whole(sounds), words).backward()
        optimizer.step()
    # One stream: a clip after the other, a frame a run. The last frame of each has its word.
    sounds, words = clips(12, generator)
    frames = [frame.unsqueeze(0) for clip in sounds for frame in clip]
    labels = [int(word) if last else -1 for word in words for last in [False] * 11 + [True]]
    return SimpleNamespace(
        module=module.eval(),
        example_inputs=frames[0],
        calibration=[frame.unsqueeze(0) for clip in clips(24, generator)[0] for frame in clip],
        samples=frames,
        labels=labels,
    )
