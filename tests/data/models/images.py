"""Image networks beyond the zoo's."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def sampled(module: nn.Module, *shape: int, count: int = 8):
    """With batch norm statistics of random images, as a trained network has."""
    module.train()
    with torch.no_grad():
        for _ in range(4):
            module(torch.randn(4, *shape[1:]))
    return module.eval(), (torch.randn(shape),), [(torch.randn(shape),) for _ in range(count)]


def block(i: int, o: int, kernel: int = 3, **options: int) -> list[nn.Module]:
    return [
        nn.Conv2d(i, o, kernel, padding=kernel // 2, bias=False, **options),
        nn.BatchNorm2d(o),
        nn.ReLU(),
    ]


def head(channels: int, classes: int = 10) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]


def autoencoder():
    torch.manual_seed(0)
    layers = [
        *(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU()),
        *(nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1), nn.ReLU()),
        *(nn.ConvTranspose2d(8, 1, 3, 2, 1, output_padding=1), nn.Sigmoid()),
    ]
    images = [(torch.rand(1, 1, 28, 28),) for _ in range(17)]
    return nn.Sequential(*layers).eval(), images[0], images[1:]


class UNet(nn.Module):
    """Two levels; enlarges by interpolation or by a transposed convolution."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode
        double = lambda i, o: nn.Sequential(*block(i, o), *block(o, o))  # noqa: E731
        self.down = nn.ModuleList([double(3, 8), double(8, 16), double(16, 32)])
        self.enlarge = nn.ModuleList(
            [nn.ConvTranspose2d(32, 32, 2, 2), nn.ConvTranspose2d(16, 16, 2, 2)]
            if mode == "transposed"
            else []
        )
        self.up = nn.ModuleList([double(48, 16), double(24, 8)])
        self.out = nn.Conv2d(8, 2, 1)

    def twice(self, x: Tensor, level: int) -> Tensor:
        if self.mode == "transposed":
            return self.enlarge[level](x)
        corners = False if self.mode == "bilinear" else None
        return F.interpolate(x, scale_factor=2, mode=self.mode, align_corners=corners)

    def forward(self, x: Tensor) -> Tensor:
        a = self.down[0](x)
        b = self.down[1](F.max_pool2d(a, 2))
        c = self.down[2](F.max_pool2d(b, 2))
        y = self.up[0](torch.cat([self.twice(c, 0), b], 1))
        return torch.sigmoid(self.out(self.up[1](torch.cat([self.twice(y, 1), a], 1))))


def unet_nearest():
    torch.manual_seed(0)
    return sampled(UNet("nearest"), 1, 3, 64, 64)


def unet_bilinear():
    torch.manual_seed(0)
    return sampled(UNet("bilinear"), 1, 3, 64, 64)


def unet_transposed():
    torch.manual_seed(0)
    return sampled(UNet("transposed"), 1, 3, 64, 64)


class Excitation(nn.Module):
    def __init__(self, channels: int, reduced: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(channels, reduced, 1)
        self.excite = nn.Conv2d(reduced, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.squeeze(x.mean((2, 3), keepdim=True)))
        return x * F.hardsigmoid(self.excite(y))


class Inverted(nn.Module):
    """MobileNetV3's block, with odd channel counts."""

    def __init__(self, i: int, e: int, o: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.adds = i == o and stride == 1
        self.layers = nn.Sequential(
            *(nn.Conv2d(i, e, 1, bias=False), nn.BatchNorm2d(e), nn.Hardswish()),
            nn.Conv2d(e, e, kernel, stride, kernel // 2, groups=e, bias=False),
            *(nn.BatchNorm2d(e), nn.Hardswish(), Excitation(e, e // 5)),
            *(nn.Conv2d(e, o, 1, bias=False), nn.BatchNorm2d(o)),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.adds else self.layers(x)


def excited():
    torch.manual_seed(0)
    first = [nn.Conv2d(3, 7, 3, 2, 1, bias=False), nn.BatchNorm2d(7), nn.Hardswish()]
    blocks = [Inverted(7, 21, 7, 3, 1), Inverted(7, 37, 13, 5, 2), Inverted(13, 65, 13, 5, 1)]
    last = [nn.Conv2d(13, 55, 1), nn.Hardswish(), *head(55, 11)]
    return sampled(nn.Sequential(*first, *blocks, *last), 1, 3, 75, 75)


class Residual(nn.Module):
    def __init__(self, layers: nn.Module) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


def resnext():
    torch.manual_seed(0)

    def bottleneck(activation: Callable[[], nn.Module]) -> nn.Module:
        return Residual(
            nn.Sequential(
                *(nn.Conv2d(32, 16, 1, bias=False), nn.BatchNorm2d(16), activation()),
                nn.Conv2d(16, 16, 3, padding=1, groups=4, bias=False),
                *(nn.BatchNorm2d(16), activation()),
                *(nn.Conv2d(16, 32, 1, bias=False), nn.BatchNorm2d(32)),
            )
        )

    activations = [lambda: nn.PReLU(16), nn.SiLU, nn.Mish, nn.PReLU]
    blocks = [part for each in activations for part in (bottleneck(each), nn.ReLU())]
    return sampled(nn.Sequential(*block(3, 32), *blocks, *head(32)), 1, 3, 24, 24)


class Dense(nn.Module):
    """Batch norm before ReLU before convolution; each layer reads all before it."""

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, 4 * growth, 1, bias=False)),
            *(nn.BatchNorm2d(4 * growth), nn.ReLU()),
            nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.layers(x)], 1)


def densenet():
    torch.manual_seed(0)
    layers = [Dense(16 + 12 * k, 12) for k in range(3)]
    tail = [nn.BatchNorm2d(52), nn.ReLU(), nn.Conv2d(52, 26, 1), nn.AvgPool2d(2), *head(26)]
    first = nn.Conv2d(3, 16, 3, 2, 1)
    return sampled(nn.Sequential(first, *layers, *tail), 1, 3, 32, 32)


class Branches(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.one = nn.Sequential(*block(channels, 16, 1))
        self.three = nn.Sequential(*block(channels, 12, 1), *block(12, 16))
        self.five = nn.Sequential(*block(channels, 6, 1), *block(6, 8, 5))
        self.pool = nn.Sequential(nn.MaxPool2d(3, 1, 1), *block(channels, 8, 1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pool(x)], 1)


def inception():
    torch.manual_seed(0)
    layers = [*block(3, 24, stride=2), Branches(24), nn.MaxPool2d(3, 2, ceil_mode=True)]
    return sampled(nn.Sequential(*layers, Branches(48), *head(48)), 1, 3, 32, 32)


class ChannelNorm(nn.LayerNorm):
    """Layer norm over the channels of an NCHW tensor."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNext(nn.Module):
    """Depthwise 7×7, layer norm, two linear layers with GELU, layer scale, residual."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.wide, self.narrow = (
            nn.Linear(channels, 4 * channels),
            nn.Linear(4 * channels, channels),
        )
        self.scale = nn.Parameter(0.1 + torch.rand(channels))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.narrow(F.gelu(self.wide(y)))
        return x + y.permute(0, 3, 1, 2)


def convnext():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 24, 4, 4), ChannelNorm(24), ConvNext(24), ConvNext(24)]
    down = [ChannelNorm(24), nn.Conv2d(24, 40, 2, 2), ConvNext(40)]
    return sampled(nn.Sequential(*layers, *down, *head(40)), 1, 3, 48, 48)
