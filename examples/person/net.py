"""Is there a person? 48 × 48 pixels of a camera, which come line by line.

With `feed = "rows"` the image is never in memory: each line goes through the layers as it comes.
"""

from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F

SIZE = 48


def block(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs), nn.ReLU()),
        *(nn.Conv2d(inputs, outputs, 1), nn.ReLU()),
    )


def network() -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU()),
        *(block(8, 16, 2), block(16, 32, 2), block(32, 32, 1)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 2)),
    )


def pictures(number: int, generator: torch.Generator):
    """A person: a head above a body. Otherwise a box as large, or nothing."""
    labels = torch.arange(number) % 2
    images = 0.3 * torch.rand(number, 1, SIZE, SIZE, generator=generator)
    rows = torch.arange(SIZE).view(-1, 1)
    columns = torch.arange(SIZE).view(1, -1)
    for image, label in zip(images, labels.tolist(), strict=True):
        y, x = (int(v) for v in torch.randint(14, 30, (2,), generator=generator))
        if label:
            shape = (rows - y + 9) ** 2 + (columns - x) ** 2 < 16
            shape |= ((rows - y - 4) / 9.0) ** 2 + ((columns - x) / 5.0) ** 2 < 1
        else:
            height, width = (int(v) for v in torch.randint(3, 11, (2,), generator=generator))
            shape = ((rows - y).abs() < height) & ((columns - x).abs() < width)
        image[0][shape] += 0.6
    return images - 0.3, labels


def make():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    module = network()
    optimizer = torch.optim.Adam(module.parameters(), 0.004)
    for _ in range(160):
        images, labels = pictures(48, generator)
        optimizer.zero_grad()
        F.cross_entropy(module(images), labels).backward()
        optimizer.step()
    images, labels = pictures(24, generator)
    return SimpleNamespace(
        module=module.eval(),
        example_inputs=images[:1],
        calibration=[image.unsqueeze(0) for image in pictures(24, generator)[0]],
        samples=[image.unsqueeze(0) for image in images],
        labels=labels.tolist(),
    )
