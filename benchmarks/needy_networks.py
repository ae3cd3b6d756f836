"""Networks of at most ten layers, of which `needs.py` tries all mixes of precisions.

Their weights are random but for `clusters`; each function gives a module with samples that nothing
was calibrated with. Labels of a random classifier are its own decisions.
"""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from torch.nn import functional

NAMES = (
    *("perceptron", "autoencoder", "convolutions", "separable", "residual", "branches", "heads"),
    *("waveform", "super_resolution", "attention", "gated", "clusters", "recurrent", "dilated"),
    *("mixer", "expanding", "squeezed", "product"),
)


def perceptron() -> SimpleNamespace:
    torch.manual_seed(0)
    layers = nn.Linear(40, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, 10)
    return _classifier(nn.Sequential(*layers), 40)


def autoencoder() -> SimpleNamespace:
    torch.manual_seed(1)
    sizes, layers = (64, 48, 12, 48, 64), list[nn.Module]()
    for before, after in pairwise(sizes):
        layers += nn.Linear(before, after), nn.ReLU()
    return _made(nn.Sequential(*layers[:-1]), 64)


def convolutions() -> SimpleNamespace:
    torch.manual_seed(2)
    layers = (*_layer(1, 8, 3), *_layer(8, 16, 3, stride=2), nn.MaxPool2d(2), *_layer(16, 24, 3))
    return _classifier(nn.Sequential(*layers, nn.Flatten(), nn.Linear(384, 10)), 1, 16, 16)


def separable() -> SimpleNamespace:
    torch.manual_seed(3)
    layers = (*_layer(3, 16, 3, stride=2), *_layer(16, 16, 3, groups=16), *_layer(16, 32, 1))
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 8)
    return _made(nn.Sequential(*layers, *head), 3, 20, 20)


class Residual(nn.Module):
    """Two blocks whose sums meet again."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(2, 16, 3, padding=1)
        self.first, self.second = (nn.Conv2d(16, 16, 3, padding=1) for _ in range(2))
        self.mixing, self.head = nn.Conv2d(16, 16, 1), nn.Linear(16, 6)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.stem(x))
        x = x + self.second(functional.relu(self.first(x)))
        x = functional.relu(x + self.mixing(x))
        return self.head(x.mean((2, 3)))


def residual() -> SimpleNamespace:
    torch.manual_seed(4)
    return _made(Residual(), 2, 12, 12)


class Branches(nn.Module):
    """Kernels of two sizes, whose channels are joined."""

    def __init__(self) -> None:
        super().__init__()
        self.narrow, self.wide = nn.Conv2d(3, 12, 1), nn.Conv2d(3, 12, 5, padding=2)
        self.joined, self.head = nn.Conv2d(24, 16, 3, stride=2), nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat((self.narrow(x), self.wide(x)), 1)
        return self.head(functional.relu(self.joined(functional.relu(x))).amax((2, 3)))


def branches() -> SimpleNamespace:
    torch.manual_seed(5)
    return _made(Branches(), 3, 14, 14)


class Heads(nn.Module):
    """A body with a class and a place as its outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(*_layer(1, 12, 3, stride=2), *_layer(12, 24, 3, stride=2))
        self.kind, self.place = nn.Linear(24, 4), nn.Linear(24, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.body(x).mean((2, 3))
        return self.kind(x), torch.sigmoid(self.place(x))


def heads() -> SimpleNamespace:
    torch.manual_seed(6)
    return _made(Heads(), 1, 16, 16)


def waveform() -> SimpleNamespace:
    torch.manual_seed(7)
    layers = nn.Conv1d(1, 16, 9, 2), nn.ReLU(), nn.Conv1d(16, 24, 5, 2), nn.ReLU()
    more = nn.Conv1d(24, 24, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten()
    return _made(nn.Sequential(*layers, *more, nn.Linear(24, 8)), 1, 96)


class SuperResolution(nn.Module):
    """Adds what convolutions make of an image to its enlargement."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 16, 5, padding=2), nn.Conv2d(16, 12, 3, padding=1)
        self.last, self.shuffle = nn.Conv2d(12, 4, 3, padding=1), nn.PixelShuffle(2)

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.second(functional.relu(self.first(x))))
        return self.shuffle(self.last(y)) + functional.interpolate(x, scale_factor=2.0)


def super_resolution() -> SimpleNamespace:
    torch.manual_seed(8)
    return _made(SuperResolution(), 1, 10, 10)


class Attention(nn.Module):
    """One head of attention over twelve places, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(24, 24) for _ in range(3))
        self.out, self.head = nn.Linear(24, 24), nn.Linear(24, 6)

    def forward(self, x: Tensor) -> Tensor:
        weights = self.query(x) @ self.key(x).transpose(1, 2) / 24**0.5
        x = x + self.out(weights.softmax(-1) @ self.value(x))
        return self.head(x)


def attention() -> SimpleNamespace:
    torch.manual_seed(9)
    return _made(Attention(), 12, 24)


class Gated(nn.Module):
    """Channels that are scaled by what a layer makes of their means."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.gate = nn.Conv2d(3, 24, 3, padding=1), nn.Linear(24, 24)
        self.wide, self.head = nn.Conv2d(24, 32, 1), nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.hardtanh(self.stem(x), 0, 6)
        x = x * torch.sigmoid(self.gate(x.mean((2, 3))))[:, :, None, None]
        return self.head(functional.relu(self.wide(x)).mean((2, 3)))


def gated() -> SimpleNamespace:
    torch.manual_seed(10)
    return _made(Gated(), 3, 12, 12)


def clusters() -> SimpleNamespace:
    """A classifier of overlapping clouds, trained, with labels."""
    torch.manual_seed(11)
    centres = torch.randn(8, 16)
    kinds = torch.randint(0, 8, (1200,))
    points = centres[kinds] + 0.8 * torch.randn(1200, 16)
    layers = nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 8)
    module = nn.Sequential(*layers)
    optimizer = torch.optim.Adam(module.parameters(), 1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        functional.cross_entropy(module(points[:400]), kinds[:400]).backward()
        optimizer.step()
    inputs = [point[None] for point in points[:464]]
    return SimpleNamespace(
        module=module.eval(),
        example_inputs=inputs[0],
        calibration=inputs[:64],
        samples=points[400:800, None],
        labels=kinds[400:800],
        unseen=[point[None] for point in points[800:]],
        unseen_labels=kinds[800:],
    )


class Recurrent(nn.Module):
    """An LSTM over frames, and two layers of its last state."""

    def __init__(self) -> None:
        super().__init__()
        self.frames, self.cells = nn.Linear(12, 16), nn.LSTM(16, 20, batch_first=True)
        self.hidden, self.head = nn.Linear(20, 24), nn.Linear(24, 5)

    def forward(self, x: Tensor) -> Tensor:
        x, _ = self.cells(functional.relu(self.frames(x)))
        return self.head(functional.relu(self.hidden(x[:, -1])))


def recurrent() -> SimpleNamespace:
    torch.manual_seed(12)
    return _made(Recurrent(), 10, 12)


class Dilated(nn.Module):
    """Causal convolutions of growing steps, with sums."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv1d(4, 16, 1)
        self.steps = nn.ModuleList(nn.Conv1d(16, 16, 3, dilation=2**k) for k in range(3))
        self.head = nn.Conv1d(16, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for k, step in enumerate(self.steps):
            x = x + functional.relu(step(functional.pad(x, (2 ** (k + 1), 0))))
        return self.head(x)


def dilated() -> SimpleNamespace:
    torch.manual_seed(13)
    return _made(Dilated(), 4, 24)


class Mixer(nn.Module):
    """Tokens and channels that are mixed in turns, with a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.norm = nn.Linear(20, 24), nn.LayerNorm(24)
        self.tokens, self.channels, self.head = nn.Linear(8, 8), nn.Linear(24, 24), nn.Linear(24, 6)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embedding(x)
        x = x + functional.gelu(self.tokens(self.norm(x).transpose(1, 2))).transpose(1, 2)
        x = x + functional.gelu(self.channels(x))
        return self.head(x.mean(1))


def mixer() -> SimpleNamespace:
    torch.manual_seed(14)
    return _classifier(Mixer(), 8, 20)


class Expanding(nn.Module):
    """An image that a code of few numbers becomes."""

    def __init__(self) -> None:
        super().__init__()
        self.code, self.first = nn.Linear(16, 24 * 9), nn.ConvTranspose2d(24, 16, 2, 2)
        self.second, self.last = nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.code(x)).reshape(-1, 24, 3, 3)
        return torch.sigmoid(
            self.last(functional.relu(self.second(functional.relu(self.first(x)))))
        )


def expanding() -> SimpleNamespace:
    torch.manual_seed(15)
    return _made(Expanding(), 16)


class Squeezed(nn.Module):
    """Two narrow layers with wide ones of two sizes behind each, joined."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 1), nn.Conv2d(32, 12, 1)
        self.points = nn.ModuleList((nn.Conv2d(8, 16, 1), nn.Conv2d(12, 16, 1)))
        self.squares = nn.ModuleList(
            nn.Conv2d(size, 16, 3, stride=2, padding=1) for size in (8, 12)
        )
        self.head = nn.Linear(32, 7)

    def forward(self, x: Tensor) -> Tensor:
        for narrow, point, square in zip(
            (self.first, self.second), self.points, self.squares, strict=True
        ):
            x = functional.relu(narrow(x))
            x = functional.relu(torch.cat((point(x[:, :, ::2, ::2]), square(x)), 1))
        return self.head(x.mean((2, 3)))


def squeezed() -> SimpleNamespace:
    torch.manual_seed(16)
    return _made(Squeezed(), 3, 12, 12)


class Product(nn.Module):
    """Two encoders whose results are multiplied, by an exponential of a third."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.gain = (nn.Linear(20, 32) for _ in range(3))
        self.middle, self.head = nn.Linear(32, 32), nn.Linear(32, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.tanh(self.left(x)) * self.right(x) * torch.exp(self.gain(x) / 2)
        return self.head(functional.relu(self.middle(y)))


def product() -> SimpleNamespace:
    torch.manual_seed(17)
    return _made(Product(), 20)


def _layer(
    before: int, after: int, size: int, *, stride: int = 1, groups: int = 1
) -> tuple[nn.Module, nn.Module]:
    layer = nn.Conv2d(before, after, size, stride, padding=size // 2, groups=groups)
    return layer, nn.ReLU()


def _classifier(module: nn.Module, *shape: int) -> SimpleNamespace:
    """With the module's decisions as labels."""
    made = _made(module, *shape)
    made.samples = 2 * torch.rand(256, 1, *shape) - 1
    with torch.no_grad():
        made.labels, made.unseen_labels = (
            torch.stack([made.module(each).argmax() for each in inputs])
            for inputs in (made.samples, made.unseen)
        )
    return made


def _made(module: nn.Module, *shape: int) -> SimpleNamespace:
    inputs = [2 * torch.rand(1, *shape) - 1 for _ in range(160)]
    return SimpleNamespace(
        module=module.eval(),
        example_inputs=inputs[0],
        calibration=inputs[:96],
        unseen=inputs[96:],
    )
