"""MobileNetV3-Small (Howard et al. 2019), torchvision's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cmcompiler.frontend.checkpoint import Checkpoint
from cmcompiler.frontend.model import Task
from cmcompiler.zoo import ZooModel
from cmcompiler.zoo._imagenet import IMAGE, classes
from cmcompiler.zoo._photographs import photographs

if TYPE_CHECKING:
    import torch


def module() -> torch.nn.Module:
    from torchvision.models import mobilenet_v3_small

    network: torch.nn.Module = mobilenet_v3_small()
    return network


MODEL = ZooModel(
    name="mv3_small",
    summary="MobileNetV3-Small, torchvision's, for 224×224 images of 1000 classes",
    input_shape=(1, 3, 224, 224),
    task=Task.CLASSIFICATION,
    dataset="ImageNet",
    module=module,
    data=lambda seed: photographs(IMAGE, seed),
    classes=classes,
    image=replace(IMAGE, margin=256 / 224),
    checkpoint=Checkpoint("https://download.pytorch.org/models/mobilenet_v3_small-047dcff4.pth"),
)
