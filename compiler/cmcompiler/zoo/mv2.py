"""MobileNetV2 (Sandler et al. 2018), torchvision's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmcompiler.frontend.checkpoint import Checkpoint
from cmcompiler.frontend.model import Task
from cmcompiler.zoo import ZooModel
from cmcompiler.zoo._imagenet import IMAGE, classes
from cmcompiler.zoo._photographs import photographs

if TYPE_CHECKING:
    import torch


def module() -> torch.nn.Module:
    from torchvision.models import mobilenet_v2

    network: torch.nn.Module = mobilenet_v2()
    return network


MODEL = ZooModel(
    name="mv2",
    summary="MobileNetV2, torchvision's, for 224×224 images of 1000 classes",
    input_shape=(1, 3, 224, 224),
    task=Task.CLASSIFICATION,
    dataset="ImageNet",
    module=module,
    data=lambda seed: photographs(IMAGE, seed),
    classes=classes,
    image=IMAGE,
    checkpoint=Checkpoint("https://download.pytorch.org/models/mobilenet_v2-7ebf99e0.pth"),
)
