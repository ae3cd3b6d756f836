"""Recurrent networks and attention."""

import torch
from torch import Tensor, nn


def sampled(module: nn.Module, *shape: int):
    return module.eval(), (torch.randn(shape),), [(torch.randn(shape),) for _ in range(16)]


class LastStep(nn.Module):
    def __init__(self, layer: nn.RNNBase, width: int) -> None:
        super().__init__()
        self.layer, self.head = layer, nn.Linear(width, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x)[0][:, -1])


def lstm():
    torch.manual_seed(0)
    return sampled(LastStep(nn.LSTM(12, 32, batch_first=True), 32), 1, 25, 12)


def long_lstm():
    torch.manual_seed(0)
    return sampled(LastStep(nn.LSTM(12, 32, batch_first=True), 32), 1, 250, 12)


def gru():
    torch.manual_seed(0)
    return sampled(LastStep(nn.GRU(12, 32, batch_first=True), 32), 1, 25, 12)


def rnn():
    torch.manual_seed(0)
    return sampled(LastStep(nn.RNN(12, 32, batch_first=True), 32), 1, 25, 12)


class EveryStep(nn.Module):
    def __init__(self, layer: nn.RNNBase, width: int) -> None:
        super().__init__()
        self.layer, self.head = layer, nn.Linear(width, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x)[0])


def bidirectional_lstm():
    torch.manual_seed(0)
    layer = nn.LSTM(16, 24, 2, batch_first=True, bidirectional=True)
    return sampled(EveryStep(layer, 48), 1, 20, 16)


def bidirectional_gru():
    torch.manual_seed(0)
    layer = nn.GRU(16, 24, 1, batch_first=True, bidirectional=True)
    return sampled(EveryStep(layer, 48), 1, 20, 16)


class Reader(nn.Module):
    """Convolutions over an image of text, a recurrent layer along its width."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d((2, 1))),
        )
        self.layer = nn.LSTM(64, 24, batch_first=True, bidirectional=True)
        self.letters = nn.Linear(48, 11)

    def forward(self, x: Tensor) -> Tensor:
        x = self.features(x).flatten(1, 2).transpose(1, 2)
        return self.letters(self.layer(x)[0]).log_softmax(-1)


def crnn():
    torch.manual_seed(0)
    return sampled(Reader(), 1, 1, 16, 48)


class TinyVit(nn.Module):
    def __init__(self, width: int = 48, depth: int = 2, heads: int = 3) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.position = nn.Parameter(torch.randn(1, 65, width) * 0.02)
        self.blocks = nn.ModuleList(VitBlock(width, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class VitBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.perceptron = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.perceptron(self.second(x))


def vit():
    torch.manual_seed(0)
    return sampled(TinyVit(), 1, 3, 32, 32)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
        self.head = nn.Linear(32, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x).mean(1))


def encoder():
    torch.manual_seed(0)
    return sampled(Encoder(), 1, 20, 32)


class Mixer(nn.Module):
    """An MLP-Mixer: linear layers over patches, then over channels."""

    def __init__(self, patches: int = 64, width: int = 32) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.tokens = nn.Sequential(nn.Linear(patches, 48), nn.GELU(), nn.Linear(48, patches))
        self.channels = nn.Sequential(nn.Linear(width, 96), nn.GELU(), nn.Linear(96, width))
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = x + self.tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        x = x + self.channels(self.norms[1](x))
        return self.head(x.mean(1))


def mixer():
    torch.manual_seed(0)
    return sampled(Mixer(), 1, 3, 32, 32)


class MobileVit(nn.Module):
    """Convolutions, then attention between the same pixels of all 2×2 patches."""

    def __init__(self, channels: int = 16, width: int = 24) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            *(nn.Conv2d(3, channels, 3, 2, 1, bias=False), nn.BatchNorm2d(channels), nn.SiLU()),
            *(nn.Conv2d(channels, width, 1), nn.SiLU()),
        )
        self.layer = nn.TransformerEncoderLayer(
            width, 2, 2 * width, batch_first=True, norm_first=True, activation="gelu", dropout=0.0
        )
        self.project = nn.Conv2d(width, channels, 1)
        self.fuse = nn.Sequential(nn.Conv2d(2 * channels, channels, 3, padding=1), nn.SiLU())
        self.skip = nn.Conv2d(3, channels, 1, 2)
        self.head = nn.Linear(channels, 10)

    def forward(self, x: Tensor) -> Tensor:
        y = self.stem(x)
        n, c, h, w = y.shape
        patches = y.reshape(n, c, h // 2, 2, w // 2, 2).permute(0, 3, 5, 2, 4, 1)
        patches = self.layer(patches.reshape(n * 4, h * w // 4, c))
        patches = patches.reshape(n, 2, 2, h // 2, w // 2, c).permute(0, 5, 3, 1, 4, 2)
        y = torch.cat([self.skip(x), self.project(patches.reshape(n, c, h, w))], 1)
        return self.head(self.fuse(y).mean((2, 3)))


def mobilevit():
    torch.manual_seed(0)
    return sampled(MobileVit(), 1, 3, 24, 24)


class Sensors(nn.Module):
    """Two inputs, two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.image = nn.Sequential(
            *(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU()),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        )
        self.motion = nn.Sequential(nn.Linear(12, 16), nn.ELU())
        self.classes, self.offset = nn.Linear(32, 5), nn.Linear(32, 2)

    def forward(self, image: Tensor, motion: Tensor) -> dict[str, Tensor]:
        x = torch.cat([self.image(image), self.motion(motion)], 1)
        logits = torch.log_softmax(self.classes(x), -1)
        return {"logits": logits, "offset": torch.tanh(self.offset(x))}


def sensors():
    torch.manual_seed(0)
    samples = [(torch.rand(1, 1, 32, 32), torch.randn(1, 12)) for _ in range(17)]
    return Sensors().eval(), samples[0], samples[1:]


class Svdf(nn.Module):
    """A frame a run: its features are kept for `time` runs and filtered over time."""

    def __init__(self, inputs: int, units: int, rank: int, time: int) -> None:
        super().__init__()
        self.units = units
        self.features = nn.Linear(inputs, units * rank, bias=False)
        self.weight = nn.Parameter(torch.randn(units * rank, time) / time**0.5)
        self.bias = nn.Parameter(0.1 * torch.randn(units))
        self.state = nn.Buffer(torch.zeros(1, units * rank, time))

    def forward(self, x: Tensor) -> Tensor:
        newest = self.features(x).unsqueeze(2)
        self.state.copy_(torch.cat([self.state[:, :, 1:], newest], 2))
        filtered = (self.state * self.weight).sum(2)
        return torch.relu(filtered.view(1, self.units, -1).sum(2) + self.bias)


def svdf():
    torch.manual_seed(0)
    layers = Svdf(40, 64, 2, 12), Svdf(64, 64, 1, 12), nn.Linear(64, 10)
    return sampled(nn.Sequential(*layers), 1, 40)
