"""Operators that networks have between their layers."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class Gallery(nn.Module):
    """Norms, softmax over channels, extremes, sums, masks, choices and order in one network."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norms = nn.Sequential(nn.GroupNorm(2, 8), nn.InstanceNorm2d(8, affine=True))
        self.symbols = nn.Embedding(12, 8)
        self.rows, self.layer = nn.LayerNorm(8), nn.Linear(8, 8)
        self.register_buffer("mask", torch.arange(64) % 5 > 0)

    def forward(self, x: Tensor, symbols: Tensor) -> tuple[Tensor, ...]:
        image = self.norms(self.conv(x))
        attended = (image.softmax(1) * image).flatten(2).transpose(1, 2)
        tokens = self.layer(self.rows(attended)) + self.symbols(symbols)
        seen = tokens.masked_fill(~self.mask[:, None], -0.5)
        chosen = torch.where(seen > seen.flip(1), seen, 0.25 * seen)
        passed = chosen * (chosen > 0.1).float()
        largest = tokens.masked_fill(~self.mask[:, None], -1e9).amax(1)
        best = chosen.topk(3, 1)[0].flatten(1)
        middle = chosen.median(1)[0]
        return passed.cumsum(1), largest, best, middle, chosen.logsumexp(-1), passed.tril()


def gallery():
    torch.manual_seed(0)
    samples = [(torch.randn(1, 3, 8, 8), torch.randint(12, (1, 64))) for _ in range(16)]
    return Gallery().eval(), samples[0], samples


class Samples(nn.Module):
    """Resized, sampled and folded images, distances, running extremes and joined softmaxes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(16, 6)
        self.centres = nn.Embedding(5, 6)
        turn = torch.tensor([[[0.9, 0.2, 0.1], [-0.2, 0.9, 0.0]]])
        self.register_buffer("grid", functional.affine_grid(turn, [1, 4, 8, 8], False))

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        image = self.conv(x)
        large = functional.interpolate(image, scale_factor=2, mode="bicubic")
        turned = functional.grid_sample(image, self.grid, align_corners=False)
        patches = functional.unfold(turned, 3, stride=2, padding=1)
        summed = functional.fold(patches, (8, 8), 3, stride=2, padding=1)
        points = self.head(summed.flatten(2).view(1, 16, 16))
        distances = torch.cdist(points, self.centres.weight)
        places = summed.flatten(2).softmax(-1) @ torch.linspace(-1, 1, 64)
        joined = torch.cat([distances.softmax(-1), distances], 2)
        scanned = joined.cummax(1)[0], points.sigmoid().cumprod(1)
        return {"large": large, "places": places, "peaks": scanned[0], "decay": scanned[1]}


def samples():
    torch.manual_seed(0)
    inputs = [(torch.randn(1, 3, 8, 8),) for _ in range(16)]
    return Samples().eval(), inputs[0], inputs


class Assigned(nn.Module):
    """Bytes of pixels, a kernel that depends on them, rows assigned by index and added up."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.route = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4, 2)
        self.kernels = nn.Parameter(0.3 * torch.randn(2, 3, 4, 3, 3))
        self.register_buffer("places", torch.tensor([0, 3, 3, 1, 0, 5, 7, 3]))

    def forward(self, pixels: Tensor) -> dict[str, Tensor]:
        image = self.conv(pixels.permute(0, 3, 1, 2).float() / 255).relu()
        shares = self.route(image.mean((2, 3))).softmax(-1)
        kernel = (shares.view(2, 1, 1, 1, 1) * self.kernels).sum(0)
        found = functional.conv2d(image, kernel, stride=2, padding=1)
        tokens = image.flatten(2).transpose(1, 2)
        rows = tokens.new_zeros(1, 8, 4)
        rows[:, 0] = tokens.mean(1)
        rows[:, 1:] = tokens[:, ::21]
        rows[:, [2, 4]] = rows[:, [4, 2]] * 0.5
        sums = torch.zeros_like(rows).index_add(1, self.places, rows)
        return {"found": found, "rows": rows, "sums": sums}


def assigned():
    torch.manual_seed(0)
    inputs = [(torch.randint(256, (1, 12, 12, 3), dtype=torch.uint8),) for _ in range(16)]
    return Assigned().eval(), inputs[0], inputs
