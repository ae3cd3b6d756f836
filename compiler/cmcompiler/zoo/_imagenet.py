"""Shared by torchvision's models trained on ImageNet."""

from __future__ import annotations

from cmcompiler.frontend.images import ImageInput

# ImageNet's statistics, as in torchvision's presets.
IMAGE = ImageInput(
    height=224,
    width=224,
    mean=(0.485, 0.456, 0.406),
    std=(0.229, 0.224, 0.225),
    margin=232 / 224,
)


def classes() -> tuple[str, ...]:
    """The 1000 names."""
    from torchvision.models import MobileNet_V2_Weights

    return tuple(MobileNet_V2_Weights.DEFAULT.meta["categories"])
