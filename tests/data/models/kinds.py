"""Small networks of the kinds that public ones are: what their blocks are made of."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def sampled(module: nn.Module, *shape: int, trained: bool = True):
    data = [(torch.randn(shape),) for _ in range(16)]
    if trained:  # statistics of normalisations
        for sample in data:
            module(*sample)
    return module.eval(), data[0], data


class SubSpectralNorm(nn.Module):
    """Normalises each band of each channel by itself."""

    def __init__(self, channels: int, bands: int) -> None:
        super().__init__()
        self.bands, self.norm = bands, nn.BatchNorm2d(channels * bands)

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        return self.norm(x.view(n, c * self.bands, h // self.bands, w)).view(n, c, h, w)


class Broadcasted(nn.Module):
    """Frequencies by themselves, then time of their mean, broadcast to all of them."""

    def __init__(self, before: int, after: int, dilation: int) -> None:
        super().__init__()
        self.change = nn.Identity()
        if before != after:
            self.change = nn.Sequential(
                nn.Conv2d(before, after, 1), nn.BatchNorm2d(after), nn.ReLU()
            )
        self.frequencies = nn.Sequential(
            nn.Conv2d(after, after, (3, 1), padding=(1, 0), groups=after, bias=False),
            SubSpectralNorm(after, 5),
        )
        self.time = nn.Sequential(
            *(
                nn.Conv2d(
                    after,
                    after,
                    (1, 3),
                    padding=(0, dilation),
                    dilation=(1, dilation),
                    groups=after,
                ),
                nn.BatchNorm2d(after),
                nn.SiLU(),
                nn.Conv2d(after, after, 1),
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.change(x)
        y = self.frequencies(x)
        return F.relu(x + y + self.time(y.mean(2, keepdim=True)))


def broadcasted_residual():
    """Keyword spotting, as BC-ResNet."""
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(1, 16, 5, (2, 1), 2),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        Broadcasted(16, 8, 1),
        Broadcasted(8, 8, 1),
        Broadcasted(8, 12, 2),
        Broadcasted(12, 12, 4),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(12, 10),
    )
    return sampled(module, 1, 1, 40, 101)


class Enhancer(nn.Module):
    """Encoder of grouped dilated convolutions, a GRU over time, a mask of the spectrum."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(2, 16, (1, 5), (1, 2), (0, 2)),
            nn.BatchNorm2d(16),
            nn.PReLU(),
            nn.Conv2d(16, 16, (1, 5), (1, 2), (0, 2), groups=2),
            nn.BatchNorm2d(16),
            nn.PReLU(),
            nn.ZeroPad2d((1, 1, 4, 0)),
            nn.Conv2d(16, 16, 3, dilation=(2, 1), groups=16),
            nn.BatchNorm2d(16),
            nn.PReLU(),
        )
        self.time = nn.GRU(16 * 16, 32, batch_first=True)
        self.back = nn.Linear(32, 16 * 16)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(16, 16, (1, 4), (1, 2), (0, 1), groups=2),
            nn.PReLU(),
            nn.ConvTranspose2d(16, 2, (1, 4), (1, 2), (0, 1)),
            nn.Tanh(),
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.encoder(x)
        n, c, t, f = y.shape
        steps = self.back(self.time(y.permute(0, 2, 1, 3).reshape(n, t, c * f))[0])
        y = y + steps.reshape(n, t, c, f).permute(0, 2, 1, 3)
        return self.decoder(y) * x


def enhancer():
    """Speech enhancement, as GTCRN."""
    torch.manual_seed(0)
    return sampled(Enhancer(), 1, 2, 16, 64)


class SelectiveScan(nn.Module):
    """States that decay and take as their input says."""

    def __init__(self, width: int, states: int) -> None:
        super().__init__()
        self.width, self.states = width, states
        self.enter, self.leave = nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.conv = nn.Conv1d(width, width, 4, groups=width, padding=3)
        self.select, self.step = nn.Linear(width, 2 * states), nn.Linear(width, width)
        self.decay = nn.Parameter(torch.arange(1, states + 1).float().log().repeat(width, 1))

    def forward(self, x: Tensor) -> Tensor:
        steps = x.shape[1]
        x, gate = self.enter(x).split(self.width, -1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., :steps].transpose(1, 2))
        write, read = self.select(x).split(self.states, -1)
        size = F.softplus(self.step(x))
        decays = torch.exp(-size[..., None] * self.decay.exp())
        taken = (size * x)[..., None] * write[:, :, None]
        state = torch.zeros_like(taken[:, 0])
        outputs = []
        for t in range(steps):
            state = decays[:, t] * state + taken[:, t]
            outputs.append((state * read[:, t, None]).sum(-1))
        return self.leave(torch.stack(outputs, 1) * F.silu(gate))


def selective_scan():
    """Sequences in linear time, as Mamba."""
    torch.manual_seed(0)
    return sampled(SelectiveScan(16, 8), 1, 16, 16)


class SplineLayer(nn.Module):
    """A learned function, of bumps on a grid, for each pair of an input and an output."""

    def __init__(self, inputs: int, outputs: int, grid: int = 8) -> None:
        super().__init__()
        self.register_buffer("grid", torch.linspace(-2, 2, grid))
        self.width = 4 / (grid - 1)
        self.bumps, self.base = nn.Linear(inputs * grid, outputs), nn.Linear(inputs, outputs)

    def forward(self, x: Tensor) -> Tensor:
        bumps = torch.exp(-(((x[..., None] - self.grid) / self.width) ** 2))
        return self.bumps(bumps.flatten(1)) + self.base(F.silu(x))


def splines():
    """Functions on the edges, as KAN."""
    torch.manual_seed(0)
    return sampled(nn.Sequential(SplineLayer(16, 32), SplineLayer(32, 10)), 1, 16)


class Capsules(nn.Module):
    """Votes of capsules for others, weighted by how they agree."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.Conv2d(16, 32, 5, 2))
        self.votes = nn.Parameter(0.1 * torch.randn(1, 64, 10, 8, 8))

    @staticmethod
    def squash(x: Tensor) -> Tensor:
        square = (x * x).sum(-1, keepdim=True)
        return x * square / (1 + square) / (square + 1e-6).sqrt()

    def forward(self, x: Tensor) -> Tensor:
        capsules = self.squash(self.features(x).reshape(1, 64, 8))
        votes = (capsules[:, :, None, None] @ self.votes)[:, :, :, 0]
        agreement = torch.zeros(1, 64, 10, 1)
        for turn in range(2):
            result = self.squash((agreement.softmax(2) * votes).sum(1, keepdim=True))
            if turn == 0:
                agreement = agreement + (votes * result).sum(-1, keepdim=True)
        return result[:, 0].norm(dim=-1)


def capsules():
    """Groups of numbers that agree, as CapsNet."""
    torch.manual_seed(0)
    return sampled(Capsules(), 1, 1, 15, 15)
