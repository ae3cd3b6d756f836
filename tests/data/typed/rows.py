"""One small layer for each row of the table of types in docs/accuracy.md, in each of its types.

`python tests/data/typed/rows.py` from the root writes the programs beside it.
"""

from pathlib import Path
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from torch.nn import functional

TYPES = ("8w8a", "8w16a", "4w8a", "4w16a", "16w16a")

CHANNELS, HALF, PIXELS = 32, 16, 16


class Function(nn.Module):
    """An operator without weights as a module, so that it has a path."""

    def __init__(self, compute) -> None:
        super().__init__()
        self.compute = compute

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(x)


class Recurrent(nn.Module):
    """What a recurrent layer makes of an image's pixels in turn."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.flatten(2).transpose(1, 2))[0]


class Svdf(nn.Module):
    """Features of a run's input that are kept for some runs and filtered over time."""

    def __init__(self, inputs: int, units: int, time: int) -> None:
        super().__init__()
        self.features = nn.Linear(inputs, units, bias=False)
        self.weight = nn.Parameter(torch.randn(units, time) / time**0.5)
        self.state = nn.Buffer(torch.zeros(1, units, time))

    def forward(self, x: Tensor) -> Tensor:
        newest = self.features(x.flatten(1)).unsqueeze(2)
        self.state.copy_(torch.cat([self.state[:, :, 1:], newest], 2))
        return (self.state * self.weight).sum(2)


WEIGHTED = {
    "conv2d": lambda: nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1),
    "depthwise_conv2d": lambda: nn.Conv2d(CHANNELS, CHANNELS, 3, groups=CHANNELS),
    "transpose_conv2d": lambda: nn.ConvTranspose2d(CHANNELS, CHANNELS, 2, stride=2),
    "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(PIXELS * CHANNELS, 8)),
    "lstm": lambda: Recurrent(nn.LSTM(CHANNELS, HALF, batch_first=True)),
    "gru": lambda: Recurrent(nn.GRU(CHANNELS, HALF, batch_first=True)),
    "svdf": lambda: Svdf(PIXELS * CHANNELS, 8, 5),
}
"""Layers, by their rows."""

OTHERS = {
    "batch_matmul": lambda x: x.reshape(2, HALF, PIXELS) @ x.reshape(2, PIXELS, HALF),
    "add": lambda x: x[:, :HALF] + 2 * x[:, HALF:],
    "mul": lambda x: x[:, :HALF] * x[:, HALF:],
    "div": lambda x: x[:, :HALF] / (2 + x[:, HALF:].abs()),
    "avg_pool2d": lambda x: functional.avg_pool2d(x, 2),
    "max_pool2d": lambda x: functional.max_pool2d(x, 2),
    "softmax": lambda x: torch.softmax(x.flatten(1), 1),
    "minimum": lambda x: torch.minimum(x[:, :HALF], x[:, HALF:]),
    "maximum": lambda x: torch.maximum(x[:, :HALF], x[:, HALF:]),
    "activation": torch.tanh,
    "transpose": lambda x: x.flatten(2).transpose(1, 2).contiguous(),
    "pad": lambda x: functional.pad(x, (1, 2, 0, 1)),
}
"""Operators without weights, by their rows."""


class Rows(nn.Module):
    """Each row's layer, of the same image."""

    def __init__(self, layers: dict[str, nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleDict(layers)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(layer(x) for layer in self.layers.values())


def made(precision: str) -> SimpleNamespace:
    """The rows that a type has, in the order of their outputs."""
    torch.manual_seed(0)
    layers = {name: make() for name, make in WEIGHTED.items()}
    if precision in ("8w8a", "8w16a"):
        layers |= {name: Function(compute) for name, compute in OTHERS.items()}
    inputs = list(torch.randn(16, 1, CHANNELS, 4, 4))
    return SimpleNamespace(
        module=Rows(layers).eval(),
        example_inputs=inputs[0],
        calibration=inputs,
        precision={"layers.*": precision},
    )


def main() -> None:
    from cmcompiler import api

    for precision in TYPES:
        model = made(precision)
        compiled = api.compile(
            model.module, model.example_inputs, model.calibration, precision=model.precision
        )
        Path(__file__).with_name(f"{precision}.pte").write_bytes(compiled.pte)


if __name__ == "__main__":
    main()
